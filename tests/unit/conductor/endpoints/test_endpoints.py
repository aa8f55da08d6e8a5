# SPDX-License-Identifier: Apache-2.0
"""RPC methods of the conductor: what they pass on, and arguments that they reject."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import oslo_messaging as messaging
import pytest
from prometheus_client import REGISTRY

from conductor.collaborators import AGENT_SECONDS, ServiceClients
from conductor.endpoints import hosts, instances, moves, repair
from conductor.endpoints import power as power_endpoint
from conductor.requests import moves as move_requests
from conductor.requests import power, shelving
from conductor.requests.copies import abort, force_complete
from conductor.requests.deletion import delete
from conductor.requests.moves import confirm, revert
from conductor.requests.shelving import offload, shelve
from conductor.service import make_endpoints
from rpcapi import context, errors, objects
from tests.support.conductor.conductors import make_conductor

CTXT = context.new("project", "user")
REPORT = objects.BuildReport.of(host="h", uuids=["a"], attempts=[1], outcomes=["active"], reasons=[""])
REFS = objects.ClaimRefs.of(consumers=["a"], attempts=[1])
SPEC = objects.RequestSpec.of(resources={"VCPU": 1})


class Recorder:
    """Records the calls of all its methods, and answers with the name of the method."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        def method(*args: Any, **values: Any) -> str:
            self.calls.append((name, args, values))
            return name

        return method


class DomainRecorder:
    """Records the calls of functions of the domain without their first argument, the conductor."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __getattr__(self, name: str) -> Any:
        return lambda _parts, *args, **values: getattr(self._recorder, name)(*args, **values)


MODULES = (hosts, instances, moves, power_endpoint, repair)
DOMAIN = (
    *("adoption", "evacuation", "instances", "leaked_migrations", "migrations", "operations", "orphans"),
    *("builds", "intake", "requested_changes", "vouching"),
)


class Dispatcher:
    """Finds the endpoint of a method, like the dispatcher of oslo.messaging."""

    def __init__(self, endpoints: Sequence[Any]) -> None:
        self._endpoints = endpoints

    def __getattr__(self, name: str) -> Any:
        return next(getattr(endpoint, name) for endpoint in self._endpoints if hasattr(endpoint, name))


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def make_dispatcher(services: Any, compute: Any) -> Dispatcher:
    conductor = make_conductor(services, ServiceClients(services, compute, lambda partition: services, "p"))
    return Dispatcher(make_endpoints(conductor, services))


@pytest.fixture
def endpoint(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> Dispatcher:
    """Return the endpoints, whose domain, store and clients are the recorder."""
    domain = DomainRecorder(recorder)
    for module in MODULES:
        for name in DOMAIN:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, domain)
    for function in ("migrate", "live_migrate", "resize"):
        monkeypatch.setattr(move_requests, function, getattr(domain, function))
    monkeypatch.setattr(shelving, "unshelve_instances", domain.unshelve_instances)
    return make_dispatcher(recorder, recorder)


@pytest.mark.parametrize(
    ("method", "values", "call"),
    [
        ("build_instances", {"spec": SPEC, "uuids": ["a"]}, ("build", (CTXT, SPEC, ["a"], ()), {"first_sent": None})),
        (
            "build_instances",
            {"spec": SPEC, "uuids": ["a"], "names": ["web"], "first_sent": 7.5},
            ("build", (CTXT, SPEC, ["a"], ["web"]), {"first_sent": 7.5}),
        ),
        ("get_quota", {"project": "p"}, ("quota", ("p",), {})),
        ("report_builds", {"report": REPORT}, ("record", (CTXT, REPORT), {})),
        ("delete_instances", {"uuids": ["a"]}, ("apply", (["a"], delete, "delete_instances", None), {})),
        ("stop_instances", {"uuids": ["a"]}, ("apply", (["a"], power.stop, "stop_instances", None), {})),
        ("start_instances", {"uuids": ["a"]}, ("apply", (["a"], power.start, "start_instances", None), {})),
        ("shelve_instances", {"uuids": ["a"]}, ("apply", (["a"], shelve, "shelve_instances", None), {})),
        ("offload_instances", {"uuids": ["a"]}, ("apply", (["a"], offload, "offload_instances", None), {})),
        ("get_instances", {"uuids": ["a"]}, ("get_instances", (["a"], None), {})),
        ("list_hosts", {"partition": "p"}, ("list_hosts", ("p",), {})),
        ("list_instances", {}, ("list_instances", (None, 1000), {"deleted": False, "project": None})),
        (
            "list_instances",
            {"marker": "7", "limit": 5, "deleted": True},
            ("list_instances", ("7", 5), {"deleted": True, "project": None}),
        ),
        (
            "adopt_instances",
            {"partition": "p", "host": "h", "uuids": ["a"]},
            ("adopt", (CTXT, "p", "h", ["a"]), {}),
        ),
        ("release_orphans", {"host": "h", "refs": REFS}, ("release", (CTXT, "h", REFS), {})),
        (
            "end_leaked_migrations",
            {"partition": "p", "host": "h", "refs": REFS},
            ("end", (CTXT, "p", "h", REFS), {"ends_running": False}),
        ),
        (
            "end_leaked_migrations",
            {"partition": "p", "host": "h", "refs": REFS, "ends_running": True},
            ("end", (CTXT, "p", "h", REFS), {"ends_running": True}),
        ),
        (
            "evacuate_instances",
            {"uuids": ["a"], "migrations": ["m"], "target": "h"},
            ("evacuate", (CTXT, ["a"], ["m"], "h"), {}),
        ),
        ("rebuild_instances", {"uuids": ["a"]}, ("rebuild", (CTXT, ["a"], None, None), {})),
        (
            "rebuild_instances",
            {"uuids": ["a"], "image": {"id": "i"}},
            ("rebuild", (CTXT, ["a"], None, {"id": "i"}), {}),
        ),
        ("compare_instances", {"uuids": ["a"]}, ("compare", (["a"],), {})),
        (
            "migrate_instances",
            {"uuids": ["a"], "migrations": ["m"]},
            ("migrate", (CTXT, ["a"], ["m"], None), {"allow_cross_cell": False, "project": None}),
        ),
        (
            "resize_instances",
            {"uuids": ["a"], "migrations": ["m"], "spec": SPEC, "allow_cross_cell": True},
            ("resize", (CTXT, ["a"], ["m"], [SPEC]), {"allow_cross_cell": True, "project": None}),
        ),
        (
            "resize_instances",
            {"uuids": ["a", "b"], "migrations": ["m", "n"], "spec": SPEC, "other_specs": [SPEC]},
            ("resize", (CTXT, ["a", "b"], ["m", "n"], [SPEC, SPEC]), {"allow_cross_cell": False, "project": None}),
        ),
        (
            "confirm_migrations",
            {"uuids": ["a"]},
            ("apply_to_migrations", (["a"], confirm, "confirm_migrations", None), {}),
        ),
        (
            "revert_migrations",
            {"uuids": ["a"]},
            ("apply_to_migrations", (["a"], revert, "revert_migrations", None), {}),
        ),
        ("abort_migrations", {"uuids": ["a"]}, ("apply_to_migrations", (["a"], abort, "abort_migrations"), {})),
        (
            "force_complete_migrations",
            {"uuids": ["a"]},
            ("apply_to_migrations", (["a"], force_complete, "force_complete_migrations"), {}),
        ),
        ("get_specs", {"uuids": ["a"]}, ("get_specs", (["a"], None), {})),
        ("get_migrations", {"uuids": ["m"]}, ("get_migrations", (["m"], None), {})),
        ("audit_hosts", {"partition": "p", "epoch": 3}, ("audit", (CTXT, "p", 3), {})),
        ("check_unverified", {"partition": "p", "host": "h", "refs": REFS}, ("check", ("p", "h", REFS), {})),
    ],
)
def test_method_is_passed_on(
    endpoint: Dispatcher, recorder: Recorder, method: str, values: dict[str, Any], call: tuple[Any, ...]
) -> None:
    getattr(endpoint, method)(CTXT, **values)
    assert recorder.calls == [call]


@pytest.mark.parametrize(
    ("method", "values"),
    [
        ("delete_instances", {"uuids": []}),
        ("get_instances", {"uuids": []}),
        ("list_instances", {}),
        ("resize_instances", {"uuids": [], "migrations": [], "spec": SPEC}),
        ("confirm_migrations", {"uuids": []}),
        ("revert_migrations", {"uuids": []}),
        ("get_specs", {"uuids": []}),
        ("get_migrations", {"uuids": []}),
    ],
)
def test_project_of_the_sender_limits_what_records_are_reached(
    endpoint: Dispatcher, recorder: Recorder, method: str, values: dict[str, Any]
) -> None:
    ctxt = context.new("project")
    ctxt.sender_project = "project"
    getattr(endpoint, method)(ctxt, **values)
    ((_name, arguments, options),) = recorder.calls
    assert "project" in (*arguments, options.get("project"))


def call(endpoint: Dispatcher, method: str, **values: Any) -> Any:
    try:
        return getattr(endpoint, method)(CTXT, **values)
    except messaging.ExpectedException as expected:
        raise expected.exc_info[1] from expected


@pytest.mark.parametrize(
    ("method", "values"),
    [
        ("list_hosts", {"partition": 1}),
        ("get_quota", {"project": None}),
        ("list_instances", {"limit": True}),
        ("list_instances", {"limit": "10"}),
        ("list_instances", {"marker": 7}),
        ("list_migrations", {"limit": 1.5}),
        ("list_migrations", {"marker": ["1"]}),
        ("release_orphans", {"host": "h", "refs": REPORT}),
        ("end_leaked_migrations", {"partition": "p", "host": "h", "refs": REPORT}),
        ("end_leaked_migrations", {"partition": None, "host": "h", "refs": REFS}),
        ("end_leaked_migrations", {"partition": "p", "host": 7, "refs": REFS}),
        ("end_leaked_migrations", {"partition": "p", "host": "h", "refs": REFS, "ends_running": "no"}),
        ("evacuate_instances", {"uuids": ["a"], "migrations": ["m"], "target": 5}),
        ("evacuate_instances", {"uuids": ["a"]}),
        ("adopt_instances", {"partition": None, "host": "h", "uuids": ["a"]}),
        ("adopt_instances", {"partition": "p", "host": 7, "uuids": ["a"]}),
        ("migrate_instances", {"uuids": ["a"], "migrations": ["m"], "host": 7}),
        ("migrate_instances", {"uuids": ["a"], "migrations": ["m"], "allow_cross_cell": "yes"}),
        ("resize_instances", {"uuids": ["a"], "migrations": ["m"], "spec": SPEC, "allow_cross_cell": 1}),
        ("resize_instances", {"uuids": ["a"], "migrations": ["m"], "spec": SPEC, "other_specs": SPEC}),
        ("audit_hosts", {"partition": 1, "epoch": 3}),
        ("audit_hosts", {"partition": "p", "epoch": "3"}),
        ("audit_hosts", {"partition": "p", "epoch": True}),
        ("report_builds", {"report": {"host": "h"}}),
        ("report_builds", {"report": SPEC}),
        ("check_unverified", {"partition": "p", "host": "h", "refs": REPORT}),
        ("get_instances", {}),
        ("get_instances", {"uuids": ["a"], "colour": "red"}),
    ],
)
def test_malformed_arguments_reach_nothing(
    endpoint: Dispatcher, recorder: Recorder, method: str, values: dict[str, Any]
) -> None:
    with pytest.raises(errors.MalformedObject):
        call(endpoint, method, **values)
    assert recorder.calls == []


def test_guests_are_listed_by_the_agent_within_a_short_time(endpoint: Dispatcher, recorder: Recorder) -> None:
    call(endpoint, "list_guests", host="h", marker="m", limit=5)
    ((name, (ctxt, *arguments), _values),) = recorder.calls
    assert (name, arguments) == ("list_guests", ["h", "m", 5])
    assert 0 < ctxt.remaining(60.0) <= AGENT_SECONDS


def test_agent_that_does_not_answer_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    def list_guests(*_args: Any) -> None:
        raise messaging.MessagingTimeout("no answer")

    agents: Any = SimpleNamespace(list_guests=list_guests)
    endpoint = make_dispatcher(None, agents)
    with pytest.raises(errors.Unavailable, match="The agent of host 'h'"):
        call(endpoint, "list_guests", host="h")
    with pytest.raises(errors.InvalidName, match="one of its nodes"):
        call(endpoint, "list_guests", host="h/n")


def test_backport_is_answered_without_the_store(endpoint: Dispatcher, recorder: Recorder) -> None:
    answer = call(endpoint, "object_backport_versions", objinst=SPEC, object_versions={"RequestSpec": SPEC.VERSION})
    assert answer["gantt_object.version"] == SPEC.VERSION
    assert recorder.calls == []


def test_calls_are_counted_by_method_and_code(endpoint: Dispatcher) -> None:
    def count(code: str) -> float:
        labels = {"method": "audit_hosts", "code": code}
        return REGISTRY.get_sample_value("gantt_conductor_calls_total", labels) or 0

    before = count("ok"), count(errors.MalformedObject.code)
    call(endpoint, "audit_hosts", partition="p", epoch=1)
    with pytest.raises(errors.MalformedObject):
        call(endpoint, "audit_hosts", partition="p", epoch="1")
    assert (count("ok"), count(errors.MalformedObject.code)) == (before[0] + 1, before[1] + 1)
