# SPDX-License-Identifier: Apache-2.0
"""A whole cluster with external plugins: explained decisions and dry runs."""

import json
import subprocess
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from devstack import exercise
from devstack.cluster_size import ClusterSize
from rpcapi import context, objects
from rpcapi.admin import waiting
from tests.support.clusters import clusters, commands
from tests.support.scheduler.outside import install_example

SHAPE = ClusterSize(computes=2, nodes_per_host=2, schedulers=2)
SMALL = {"VCPU": 1, "MEMORY_MB": 512}
ENABLED = "ComputeFilter,ForceHostsFilter,TraitsFilter,ResourcesFilter,RequestGroupsFilter,MaintenanceFilter"


class SilentProgress:
    def update(self, number):
        """Ignore the progress."""


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    # The node shape sets the licences.
    overrides = {
        "scheduler": {"filter_scheduler": {"enabled_filters": ENABLED}},
        "compute": {"shape:small": {"licences": 1}},
    }
    outside = {"PYTHONPATH": str(install_example(tmp_path_factory))}
    with clusters.running_cluster(SHAPE, overrides, environment={"scheduler": outside, "compute": outside}) as cluster:
        yield cluster


def boot(session, count=1, **spec_fields):
    """Boot, and return the request id and the servers in their final status."""
    request_id = session.new_request()
    uuids = [str(uuid.uuid4()) for _ in range(count)]
    spec = objects.RequestSpec.of(**({"resources": SMALL} | spec_fields))
    session.call(session.conductor.build_instances, spec, uuids)
    instances = waiting.wait_for_status(session, uuids, exercise.FINAL_STATUSES, 60, SilentProgress())
    return request_id, [instances[item] for item in uuids]


def explained(session, request_id):
    return session.call(session.scheduler.explain, request_id).document


def gantt(running, *argv):
    command = [*commands.gantt(), "--config-file", str(running.cluster.client_conf), *argv]
    return json.loads(subprocess.run([*command, "-f", "json"], check=True, capture_output=True, timeout=60).stdout)


def test_an_accepted_request(running):
    request_id, (server,) = boot(running.session)
    assert server.status == "ACTIVE", server.reason
    document = explained(running.session, request_id)
    assert (document["outcome"], document["driver"], document["hosts"]) == ("selected", "filter", SHAPE.nodes)
    assert document["best"][0]["weights"]
    (verdict,) = document["verdicts"]
    assert verdict["host"] == server.host
    assert verdict["tried"][-1] == [server.host, "FITS"]
    assert 0 <= document["seconds_since_contact"] < 5
    shown = gantt(running, "explain", request_id)
    assert shown["freshness"]["entries_behind"] == 0
    assert "examples" not in shown


def test_a_refused_request(running):
    request_id, (server,) = boot(running.session, resources={"VCPU": 100_000}, forbidden_traits=["CUSTOM_FAST_DISK"])
    assert server.status == "ERROR"
    document = explained(running.session, request_id)
    assert (document["outcome"], sum(document["reasons"].values())) == ("refused", SHAPE.nodes)
    assert {reason: len(names) for reason, names in document["samples"].items()} == {
        reason: min(count, 5) for reason, count in document["reasons"].items()
    }


def test_racing_requests_for_one_host(running):
    session = running.session
    nodes = {
        state.name: state.document for state in session.list_all(session.scheduler.list_host_state, "states", "compute")
    }
    host = min(nodes)
    nodes_with_licences = nodes[host]["inventories"]["MEMORY_MB"]["capacity"] - nodes[host]["used"].get("MEMORY_MB", 0)
    half = objects.RequestSpec.of(resources={"MEMORY_MB": nodes_with_licences // 2 + 1}, force_hosts=[host])
    ctxts = [context.new("p", "u") for _ in range(8)]
    barrier = threading.Barrier(len(ctxts))

    def select(ctxt):
        barrier.wait(30)
        try:
            return running.admin.scheduler.select_destinations(ctxt.with_timeout(30), half, [str(uuid.uuid4())])
        except Exception as error:  # the errors are checked below
            return error

    with ThreadPoolExecutor(len(ctxts)) as pool:
        answers = list(pool.map(select, ctxts))
    assert sum(isinstance(answer, objects.Selections) for answer in answers) == 1, answers
    records = [explained(session, ctxt.request_id) for ctxt in ctxts]
    assert sorted(document["outcome"] for document in records) == ["refused"] * 7 + ["selected"]
    for document in records:
        if document["outcome"] == "refused":
            # It lost the race in the claim script and was retried, or its replica already had the winner's claim.
            assert document.get("lost", []) in ([], [[host, "CONCURRENT"]]), document
            assert "not enough MEMORY_MB" in document["reasons"], document


def test_dry_run_claims_and_records_nothing(running):
    session = running.session
    partition = "default"

    def content():
        report = session.call(session.claims.verify)
        assert not report.problems
        page = session.call(session.scheduler.list_decisions, partition, limit=1000)
        claims = sorted(
            json.dumps(item, sort_keys=True) for item in session.list_all(session.claims.list_claims, "claims")
        )
        return report.claims, claims, [answer.request_id for answer in page.decisions]

    before = content()
    (flavor,) = list(session.flavors)[:1]
    document = gantt(running, "explain", "--dry-run", "--flavor", flavor, "--count", "2")
    assert (document["outcome"], document["hosts_considered"], len(document["candidates"])) == (
        "selected",
        SHAPE.nodes,
        2,
    )
    refused = gantt(running, "explain", "--dry-run", "--flavor", flavor, "--trait", "CUSTOM_NOWHERE")
    assert refused["outcome"] == "refused"
    assert sum(len(names) for names in refused["examples"].values()) == SHAPE.nodes
    assert content() == before


def test_plugins_decide_and_are_listed(running):
    session = running.session
    boot(session)
    listed = {item["name"]: item for item in gantt(running, "filter", "list")}
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


def test_plugin_resource_kind_is_allocated_until_exhausted(running):
    session = running.session
    session.new_request()
    nodes_with_licences = [
        state.name
        for state in session.list_all(session.scheduler.list_host_state, "states", "compute")
        if "CUSTOM_LICENCE" in state.document.get("inventories", {})
    ]
    assert nodes_with_licences, "no node has the shape with licences"
    answer = {**SMALL, "CUSTOM_LICENCE": 1}
    _, servers = boot(session, len(nodes_with_licences), resources=answer)
    assert [item.status for item in servers] == ["ACTIVE"] * len(nodes_with_licences), [item.reason for item in servers]
    _, (refused,) = boot(session, resources=answer)
    assert refused.status == "ERROR"
