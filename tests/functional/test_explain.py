# SPDX-License-Identifier: Apache-2.0
"""A whole cluster with plugins from outside: decisions explained, and decisions that nobody makes."""

import json
import subprocess
import sys
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from devstack import exercise
from devstack.cluster import ClusterSize
from rpcapi import context, objects
from rpcapi.shell import waiting
from tests.functional import clusters
from tests.unit.scheduler_svc.plugins.outside import install_example

SHAPE = ClusterSize(computes=2, nodes_per_host=2, schedulers=2)
SMALL = {"VCPU": 1, "MEMORY_MB": 512}
ENABLED = "ComputeFilter,ForceHostsFilter,TraitsFilter,ResourcesFilter,RequestGroupsFilter,MaintenanceFilter"


class Unseen:
    def update(self, number):
        """Show nothing."""


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    # Which agents have licences: a node's shape says so.
    overrides = {
        "scheduler": {"filter_scheduler": {"enabled_filters": ENABLED}},
        "compute": {"shape:small": {"licences": 1}},
    }
    outside = {"PYTHONPATH": str(install_example(tmp_path_factory))}
    with clusters.running(SHAPE, overrides, environment={"scheduler": outside, "compute": outside}) as cluster:
        yield cluster


def boot(session, count=1, **asked):
    """Boot, and return the request's id with the servers as they ended."""
    request_id = session.new_request()
    uuids = [str(uuid.uuid4()) for _ in range(count)]
    spec = objects.RequestSpec.of(**({"resources": SMALL} | asked))
    session.call(session.conductor.build_instances, spec, uuids)
    known = waiting.wait_for_status(session, uuids, exercise.FINAL_STATUSES, 60, Unseen())
    return request_id, [known[each] for each in uuids]


def explained(session, request_id):
    return session.call(session.scheduler.explain, request_id).document


def gantt(running, *argv):
    command = [sys.executable, "-m", "rpcapi.shell.main", "--config-file", str(running.cluster.client_conf), *argv]
    return json.loads(subprocess.run([*command, "-f", "json"], check=True, capture_output=True, timeout=60).stdout)


def test_an_accepted_request(running):
    request_id, (server,) = boot(running.session)
    assert server.status == "ACTIVE", server.reason
    told = explained(running.session, request_id)
    assert (told["outcome"], told["driver"], told["hosts"]) == ("selected", "filter", SHAPE.nodes)
    assert told["best"][0]["weights"]
    (verdict,) = told["verdicts"]
    assert verdict["host"] == server.host
    assert verdict["tried"][-1] == [server.host, "FITS"]
    assert 0 <= told["heard_s"] < 5
    shown = gantt(running, "explain", request_id)
    assert shown["freshness"]["entries_behind"] == 0
    assert "such_as" not in shown


def test_a_refused_request(running):
    request_id, (server,) = boot(running.session, resources={"VCPU": 100_000}, forbidden_traits=["CUSTOM_FAST_DISK"])
    assert server.status == "ERROR"
    told = explained(running.session, request_id)
    assert (told["outcome"], sum(told["reasons"].values())) == ("refused", SHAPE.nodes)
    assert {reason: len(names) for reason, names in told["samples"].items()} == {
        reason: min(count, 5) for reason, count in told["reasons"].items()
    }


def test_requests_that_race_for_one_host(running):
    session = running.session
    nodes = {
        state.name: state.document for state in session.list_all(session.scheduler.list_host_state, "states", "compute")
    }
    host = min(nodes)
    held = nodes[host]["inventories"]["MEMORY_MB"]["capacity"] - nodes[host]["used"].get("MEMORY_MB", 0)
    half = objects.RequestSpec.of(resources={"MEMORY_MB": held // 2 + 1}, force_hosts=[host])
    ctxts = [context.new("p", "u") for _ in range(8)]
    barrier = threading.Barrier(len(ctxts))

    def ask(ctxt):
        barrier.wait(30)
        try:
            return session.scheduler.select_destinations(ctxt.with_timeout(30), half, [str(uuid.uuid4())])
        except Exception as error:  # what each was told is looked at below
            return error

    with ThreadPoolExecutor(len(ctxts)) as pool:
        answers = list(pool.map(ask, ctxts))
    assert sum(isinstance(one, objects.Selections) for one in answers) == 1, answers
    records = [explained(session, ctxt.request_id) for ctxt in ctxts]
    assert sorted(told["outcome"] for told in records) == ["refused"] * 7 + ["selected"]
    for told in records:
        if told["outcome"] == "refused":
            # It lost the race in the claim script and was decided anew, or it had learned before that it was lost.
            assert told.get("lost", []) in ([], [[host, "CONCURRENT"]]), told
            assert "not enough MEMORY_MB" in told["reasons"], told


def test_a_dry_run_claims_and_records_nothing(running):
    session = running.session
    partition = "default"

    def content():
        found = session.call(session.claims.verify)
        assert not found.problems
        page = session.call(session.scheduler.list_decisions, partition, limit=1000)
        claims = sorted(
            json.dumps(each, sort_keys=True) for each in session.list_all(session.claims.list_claims, "claims")
        )
        return found.claims, claims, [one.request_id for one in page.decisions]

    before = content()
    (flavor,) = list(session.flavors)[:1]
    told = gantt(running, "explain", "--dry-run", "--flavor", flavor, "--count", "2")
    assert (told["outcome"], told["hosts_looked_at"], len(told["candidates"])) == ("selected", SHAPE.nodes, 2)
    refused = gantt(running, "explain", "--dry-run", "--flavor", flavor, "--trait", "CUSTOM_NOWHERE")
    assert refused["outcome"] == "refused"
    assert sum(len(names) for names in refused["such_as"].values()) == SHAPE.nodes
    assert content() == before


def test_plugins_decide_and_are_listed(running):
    session = running.session
    boot(session)
    listed = {each["name"]: each for each in gantt(running, "filter", "list")}
    assert list(listed)[-1] == "MaintenanceFilter"
    assert (listed["MaintenanceFilter"]["source"], listed["MaintenanceFilter"]["form"]) == (
        "gantt-racks 1.0",
        "per-host",
    )
    names = [state.name for state in session.list_all(session.scheduler.list_host_state, "states", "compute")]
    roots = [name for name in names if not name.endswith("licences")]
    soon = [{"id": "soon", "hosts": roots, "metadata": {"maintenance": "soon"}}]
    session.call(session.scheduler.update_aggregates, soon)
    try:
        _, (server,) = boot(session)
        assert server.status == "ERROR"
        assert "maintenance soon" in server.reason
        _, (server,) = boot(session, hints={"short_lived": "yes"})
        assert server.status == "ACTIVE", server.reason
    finally:
        session.call(session.scheduler.delete_aggregate, "soon")


def test_a_resource_kind_from_outside_is_placed_and_used_up(running):
    session = running.session
    session.new_request()
    held = [
        state.name
        for state in session.list_all(session.scheduler.list_host_state, "states", "compute")
        if "CUSTOM_LICENCE" in state.document.get("inventories", {})
    ]
    assert held, "some nodes are of the shape that has licences"
    one = {**SMALL, "CUSTOM_LICENCE": 1}
    _, servers = boot(session, len(held), resources=one)
    assert [each.status for each in servers] == ["ACTIVE"] * len(held), [each.reason for each in servers]
    _, (refused,) = boot(session, resources=one)
    assert refused.status == "ERROR"
