# SPDX-License-Identifier: Apache-2.0
"""Decisions of the table of callers."""

import ast
from pathlib import Path

import pytest

import conductor
from rpcapi import errors, objects
from rpcapi.access.callers import CALLERS, access_of
from rpcapi.access.senders import SenderDirectory

AGENT = SenderDirectory().sender("gantt-compute.h1")
CLAIMS, SCHEDULER, CONDUCTOR = (access_of(service) for service in ("claims", "scheduler", "conductor"))
CONDUCTOR_CODE = Path(conductor.__file__).parent
REFS = objects.ClaimRefs.of(consumers=[], attempts=[])


def test_only_the_named_roles_may_call():
    directory = SenderDirectory()
    CLAIMS.check_role("fence_host", directory.sender("operator"))
    CLAIMS.check_role("fence_host", directory.sender("admin"))
    for user in ("client", "conductor", "scheduler", "gantt-compute.h1", "guest"):
        with pytest.raises(errors.CallerRefused, match="allowed callers: operator"):
            CLAIMS.check_role("fence_host", directory.sender(user))


@pytest.mark.parametrize("service", ["scheduler", "claims", "compute"])
def test_conductors_may_call_what_their_code_calls(service: str) -> None:
    sources = [ast.parse(path.read_text(encoding="utf-8")) for path in CONDUCTOR_CODE.rglob("*.py")]
    nodes = [node for source in sources for node in ast.walk(source) if isinstance(node, ast.Attribute)]
    named = {node.attr for node in nodes} & CALLERS[service].keys() - {"verify"}  # a step of the saga
    assert len(named) >= 4
    sender = SenderDirectory().sender("conductor")
    for method in named:
        access_of(service).check_role(method, sender)


def test_method_that_the_table_lacks_has_no_callers():
    with pytest.raises(errors.CallerRefused, match="nobody"):
        CLAIMS.check_role("forgotten", SenderDirectory().sender("operator"))


def test_call_without_a_sender_is_refused():
    with pytest.raises(errors.CallerRefused, match="an unauthenticated sender"):
        CLAIMS.check_role("confirm_claims", None)


def test_agent_calls_for_its_own_host():
    CLAIMS.check_host("release_claims", AGENT, {"host": "h1", "refs": REFS})
    SCHEDULER.check_host("update_resource_stats", AGENT, {"name": ("h1", "node0")})
    CONDUCTOR.check_host("report_builds", AGENT, {"report": report("h1")})
    CLAIMS.check_host("abort_claims", SenderDirectory().sender("conductor"), {"refs": REFS, "destinations": ["h2"]})


@pytest.mark.parametrize(
    ("access", "method", "values"),
    [
        (CLAIMS, "release_claims", {"host": "h10", "refs": REFS}),
        (CLAIMS, "release_claims", {"refs": REFS}),
        (CLAIMS, "release_claims", {"host": ["h1"]}),
        (CLAIMS, "abort_claims", {"refs": REFS}),
        (CLAIMS, "abort_claims", {"refs": REFS, "host": None}),
        (CLAIMS, "abort_claims", {"refs": REFS, "host": "h1", "destinations": ["h2"]}),
        (CLAIMS, "audit_host", {"report": objects.AuditReport()}),
        (CLAIMS, "audit_host", {"report": "h1"}),
        (SCHEDULER, "update_resource_stats", {"name": "h2/h1"}),
        (CONDUCTOR, "report_builds", {}),
    ],
)
def test_agent_does_not_call_for_others(access, method, values):
    with pytest.raises(errors.CallerRefused, match=r"gantt-compute\.h1"):
        access.check_host(method, AGENT, values)


CLIENT = SenderDirectory().sender("client.horizon@p")


@pytest.mark.parametrize("project", ["p", "", None])
def test_client_of_a_project_calls_for_it(project):
    CONDUCTOR.check_project("build_instances", CLIENT, project, {"uuids": []})
    CONDUCTOR.check_project("get_quota", CLIENT, project, {"project": "p"})
    SCHEDULER.check_project("explain", CLIENT, project, {"request_id": "r"})


@pytest.mark.parametrize(
    ("access", "method", "project", "values"),
    [
        (CONDUCTOR, "build_instances", "q", {}),
        (CONDUCTOR, "delete_instances", "pp", {}),
        (CONDUCTOR, "list_instances", "P", {}),
        (CONDUCTOR, "get_quota", "p", {"project": "q"}),
        (CONDUCTOR, "get_quota", "p", {}),
        (CONDUCTOR, "get_quota", "q", {"project": "p"}),
        (SCHEDULER, "dry_run", "q", {}),
        (SCHEDULER, "list_partitions", "p", {}),
        (SCHEDULER, "forgotten", "p", {}),
    ],
)
def test_client_of_a_project_does_not_call_for_others(access, method, project, values):
    with pytest.raises(errors.CallerRefused, match=r"client\.horizon@p"):
        access.check_project(method, CLIENT, project, values)


def test_client_without_a_project_is_believed():
    CONDUCTOR.check_project("get_quota", SenderDirectory().sender("client.horizon"), "q", {"project": "r"})


def test_no_table_for_other_services():
    assert access_of("echo") is None
    assert set(CALLERS) == {"scheduler", "claims", "conductor", "compute"}


def report(host):
    return objects.BuildReport.of(host=host, uuids=[], attempts=[], outcomes=[], reasons=[])
