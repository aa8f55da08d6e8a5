# SPDX-License-Identifier: Apache-2.0
"""RPC methods of the agent, with valid and invalid arguments."""

import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import oslo_messaging as messaging
import pytest

from compute_agent.attempt import Attempt, AttemptRef
from compute_agent.attempts.builder import terminate
from compute_agent.attempts.copies import GuestCopy, apply_copies
from compute_agent.attempts.transitions import GuestTransition, apply_transitions
from compute_agent.endpoints.compute import ComputeEndpoint
from compute_agent.resources.requirements import BuildRequirements
from rpcapi import context, errors, objects
from rpcapi.resources.claims import ClaimRole, MoveEnd

FIRST_UUID, SECOND_UUID, THIRD_UUID, FOURTH_UUID = (str(uuid.UUID(int=number)) for number in (1, 2, 3, 4))


class FakeServiceHost:
    """Fake of a service host: records the endpoint's calls."""

    name = "alpha"

    def __init__(self) -> None:
        self.built: list[Attempt] = []
        self.terminated: list[AttemptRef] = []
        self.audited: list[int] = []
        self.audits = SimpleNamespace(request=self.audited.append)
        self.copied: list[GuestCopy] = []
        self.changed: list[GuestTransition] = []

    def build(self, ctxt: Any, intents: list[Attempt], requirements: BuildRequirements) -> None:
        self.built += intents
        self.requirements = requirements

    def submit(self, ctxt: Any, apply: Any, messages: list[Any]) -> None:
        submitted: dict[Any, list[Any]] = {
            terminate: self.terminated,
            apply_copies: self.copied,
            apply_transitions: self.changed,
        }
        submitted[apply] += messages


@pytest.fixture
def host() -> FakeServiceHost:
    return FakeServiceHost()


@pytest.fixture
def send(host: FakeServiceHost) -> Callable[..., None]:
    endpoint = ComputeEndpoint(host, "default", 3)  # type: ignore[arg-type]

    def call(method: str, **values: Any) -> None:
        try:
            getattr(endpoint, method)(context.new("p", "u", request_id="req-1"), **values)
        except messaging.ExpectedException as expected:
            raise expected.exc_info[1] from expected

    return call


def request(**changes: Any) -> objects.BuildRequest:
    spec = objects.RequestSpec.of(resources={"VCPU": 2}, group_id="g", group_policy="affinity")
    values = {
        "spec": spec,
        "partition": "default",
        "project_id": "tenant",
        "user_id": "someone",
        "uuids": [FIRST_UUID, SECOND_UUID],
        "attempts": [1, 2],
        "names": ["alpha/node0", "alpha/node1"],
    }
    return objects.BuildRequest.of(**(values | changes))


def test_intents_have_all_journalled_fields(host: FakeServiceHost, send: Callable[..., None]) -> None:
    send("build_instances", request=request())
    first, second = host.built
    assert (first.ref, second.ref) == ((FIRST_UUID, 1), (SECOND_UUID, 2))
    assert second.allocations == {"alpha/node1": {"VCPU": 2}}
    assert second.request_id == "req-1"
    assert second.owner == {
        "type": "INSTANCE",
        "project": "tenant",
        "user": "someone",
        "request_id": "req-1",
        "flavor": None,
        "group_id": "g",
        "group_policy": "affinity",
        "group_max_per_host": None,
    }


def test_build_has_allocations_of_its_claim_and_requirements_of_its_spec(
    host: FakeServiceHost, send: Callable[..., None]
) -> None:
    claim_amounts = {"alpha/node0": {"DISK_GB": 1}, "alpha/node0/numa0": {"PCPU": 2}, "pool": {"DISK_GB": 9}}
    numa = {
        "cells": [{"id": 0, "group": "_numa0", "cpus": [0, 1], "pcpus": [0, 1], "memory_mb": 4}],
        "cpu_policy": "dedicated",
    }
    groups = {"_numa0": {"resources": {"PCPU": 2, "MEMORY_MB": 4}}}
    spec = objects.RequestSpec.of(resources={"DISK_GB": 1}, numa=numa, groups=groups, hints={"near": "me"})
    send("build_instances", request=request(spec=spec, allocations=[None, claim_amounts]))
    assert [item.allocations for item in host.built] == [{"alpha/node0": {"DISK_GB": 1}}, claim_amounts]
    assert [item.pcpus for item in host.requirements.topology.cells] == [(0, 1)]
    assert [item.suffix for item in host.requirements.tree_request.groups] == ["", "_numa0"]
    assert host.requirements.hints == {"near": "me"}


def destination(migration: str) -> dict[str, Any]:
    return MoveEnd(ClaimRole.DESTINATION, migration, 1).as_dict()


def test_incoming_guests_are_built_for_their_migrations(host: FakeServiceHost, send: Callable[..., None]) -> None:
    send("prepare_incoming", request=request(moves=[destination(THIRD_UUID), destination(FOURTH_UUID)]))
    assert [(intent.uuid, intent.migration, intent.role, intent.is_incoming) for intent in host.built] == [
        (FIRST_UUID, THIRD_UUID, "destination", True),
        (SECOND_UUID, FOURTH_UUID, "destination", True),
    ]


def test_builds_have_the_roles_of_their_claims(host: FakeServiceHost, send: Callable[..., None]) -> None:
    send("build_instances", request=request(moves=[None, destination(THIRD_UUID)]))
    assert [(intent.migration, intent.role, intent.source_attempt, intent.is_incoming) for intent in host.built] == [
        ("", "only", None, False),
        (THIRD_UUID, "destination", 1, False),
    ]


@pytest.mark.parametrize(
    "change",
    [
        *({"migration": "x"}, {"migration": None}, {"role": "source"}, {"role": "only"}, {"role": "x"}),
        *({"source_attempt": value} for value in (None, 0, True, "1", 2**60)),
    ],
)
def test_builds_with_malformed_moves_are_rejected(send: Callable[..., None], change: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidRequest):
        send("build_instances", request=request(moves=[None, destination(THIRD_UUID) | change]))


def transitions(**changes: Any) -> objects.GuestTransitions:
    values = {"partition": "default", "uuids": [FIRST_UUID], "attempts": [1], "actions": ["stop"], "numbers": [2]}
    return objects.GuestTransitions.of(**(values | changes))


MOVE = {"migration": THIRD_UUID, "role": "source"}


@pytest.mark.parametrize(
    "changes",
    [
        {"partition": "elsewhere"},
        {"actions": ["pause"]},
        {"attempts": [0]},
        {"uuids": ["x"]},
        *(
            {"moves": [MOVE | change]}
            for change in (
                {"migration": "x"},
                {"migration": None},
                {"role": "x"},
                {"role": None},
                {"source_attempt": 1},
            )
        ),
        {"numbers": [0]},
        {"numbers": [2**60]},
        {"numbers": []},
        {"moves": [{}, {}]},
    ],
)
def test_invalid_transitions_are_rejected(
    host: FakeServiceHost, send: Callable[..., None], changes: dict[str, Any]
) -> None:
    with pytest.raises(errors.GanttError):
        send("change_guests", transitions=transitions(**changes))
    assert host.changed == []


def test_transitions_are_forwarded(host: FakeServiceHost, send: Callable[..., None]) -> None:
    send("change_guests", transitions=transitions(moves=[MOVE]))
    send("change_guests", transitions=transitions())
    assert host.changed == [
        GuestTransition(AttemptRef(FIRST_UUID, 1), "stop", 2, MoveEnd(ClaimRole.SOURCE, THIRD_UUID)),
        GuestTransition(AttemptRef(FIRST_UUID, 1), "stop", 2, MoveEnd()),
    ]


@pytest.mark.parametrize("migrations", [[], [THIRD_UUID], [THIRD_UUID, "x"], [THIRD_UUID, THIRD_UUID]])
def test_incoming_guests_without_their_migrations_are_rejected(
    host: FakeServiceHost, send: Callable[..., None], migrations: list[str]
) -> None:
    with pytest.raises(errors.InvalidRequest):
        send(
            "prepare_incoming",
            request=request(
                moves=[{"role": "destination", "migration": name, "source_attempt": 1} for name in migrations]
            ),
        )
    assert host.built == []


def copies(**changes: Any) -> objects.GuestCopies:
    values = {
        "partition": "default",
        "uuids": [FIRST_UUID],
        "attempts": [1],
        "migrations": [THIRD_UUID],
        "numbers": [2],
        "actions": ["start"],
        "destinations": ["beta/node0"],
        "with_disk": [True],
        "post_copy": [False],
    }
    return objects.GuestCopies.of(**(values | changes))


def test_copies_are_forwarded(host: FakeServiceHost, send: Callable[..., None]) -> None:
    send("copy_guests", copies=copies())
    (copy,) = host.copied
    assert (copy.ref, copy.migration) == ((FIRST_UUID, 1), THIRD_UUID)
    assert (copy.number, copy.action, copy.destination) == (2, "start", "beta/node0")
    assert (copy.with_disk, copy.post_copy) == (True, False)


@pytest.mark.parametrize(
    "changes",
    [
        {"partition": "elsewhere"},
        {"actions": ["pause"]},
        {"numbers": [0]},
        {"numbers": [2**60]},
        {"attempts": [0]},
        {"migrations": ["x"]},
        {"uuids": ["x"]},
    ],
)
def test_invalid_copies_are_rejected(host: FakeServiceHost, send: Callable[..., None], changes: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidRequest):
        send("copy_guests", copies=copies(**changes))
    assert host.copied == []


@pytest.mark.parametrize(
    "values", [{"instances": ["x"]}, {"instances": []}, {"instances": [FIRST_UUID], "facts": [{}], "names": []}]
)
def test_invalid_checks_are_rejected(send: Callable[..., None], values: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidRequest):
        send("check_migrations", checks=objects.MigrationChecks.of(**values))


def test_terminations_and_audits_are_forwarded(host: FakeServiceHost, send: Callable[..., None]) -> None:
    send("terminate_instances", refs=objects.ClaimRefs.of(consumers=[FIRST_UUID], attempts=[4]))
    send("audit", partition="default", epoch=9)
    send("audit", partition="elsewhere", epoch=10)
    assert (host.terminated, host.audited) == ([(FIRST_UUID, 4)], [9])


@pytest.mark.parametrize(
    "changes",
    [
        {"partition": "elsewhere"},
        {"allocations": [{"alpha/node0": {"GPUS": 1}}, None]},
        {"allocations": [{"alpha/node0": {"VCPU": 0}}, None]},
        {"allocations": [{"alpha/node0": {}}, None]},
        {"allocations": [{"alpha/node0": {"VCPU": True}}, None]},
        {"allocations": [{"alpha/node0": 1}, None]},
        {"allocations": [{"not a name": {}}, None]},
        {"allocations": [None]},
        {"uuids": [FIRST_UUID, FIRST_UUID]},
        {"uuids": ["../../etc/passwd", SECOND_UUID]},
        {"attempts": [0, 1]},
        {"attempts": [1, 2**31]},
        {"uuids": [], "attempts": [], "names": []},
        {"uuids": [str(uuid.UUID(int=n)) for n in range(4)], "attempts": [1] * 4, "names": ["alpha/node0"] * 4},
        {"spec": objects.RequestSpec.of(resources={"VCPU": -1})},
        {"spec": objects.RequestSpec.of(resources={"MAGIC": 1})},
    ],
)
def test_invalid_build_is_rejected_as_a_whole(
    host: FakeServiceHost, send: Callable[..., None], changes: dict[str, Any]
) -> None:
    with pytest.raises(errors.InvalidRequest):
        send("build_instances", request=request(**changes))
    assert host.built == []


@pytest.mark.parametrize(
    ("method", "values"),
    [
        ("build_instances", {"request": {"uuids": [FIRST_UUID]}}),
        ("terminate_instances", {"refs": [FIRST_UUID]}),
        ("terminate_instances", {"refs": objects.ClaimRefs.of(consumers=["x"], attempts=[1])}),
        ("terminate_instances", {"refs": objects.ClaimRefs.of(consumers=[FIRST_UUID], attempts=[-1])}),
        ("audit", {"partition": "default", "epoch": "soon"}),
        ("audit", {"partition": "default", "epoch": True}),
    ],
)
def test_invalid_arguments_are_rejected(
    host: FakeServiceHost, send: Callable[..., None], method: str, values: dict[str, Any]
) -> None:
    with pytest.raises(errors.InvalidRequest):
        send(method, **values)
    assert (host.built, host.terminated, host.audited) == ([], [], [])


@pytest.mark.parametrize("values", [{"limit": 0}, {"limit": "5"}, {"limit": True}, {"marker": 7}])
def test_invalid_page_of_guests_is_rejected(send: Callable[..., None], values: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidRequest, match=r"limit|marker"):
        send("list_guests", **values)
