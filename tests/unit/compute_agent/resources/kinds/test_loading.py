# SPDX-License-Identifier: Apache-2.0
"""Loading of resource kinds, and containment of faulty plugins."""

import importlib.metadata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from oslo_config import cfg

from compute_agent.attempt import Attempt, Stage
from compute_agent.resources import shapes
from compute_agent.resources.kinds import loading
from compute_agent.resources.kinds.kind import Assignment, AssignmentRequest, NodeProvider, ResourceKind
from compute_agent.resources.nodes import Node
from compute_agent.resources.requirements import BuildRequirements
from compute_agent.resources.tracker import ResourceTracker
from rpcapi import errors
from rpcapi.resources.inventory import Inventory
from tests.support.agent import machines


class Licences(ResourceKind):
    """Example of a plugin kind: numbered licences."""

    classes: tuple[str, ...] = ("CUSTOM_LICENCE",)

    @classmethod
    def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> ResourceKind | None:
        return cls()

    def inventory(self) -> Sequence[NodeProvider]:
        return [NodeProvider("", {name: Inventory(3) for name in self.classes}, ("CUSTOM_LICENSED",))]

    def assign(self, request: AssignmentRequest, assignments: Sequence[Assignment]) -> Assignment | str:
        if request.requirements.hints.get("licence") == "gold":
            return "there are no golden licences"
        used_numbers = {number for assignment in assignments for number in assignment["numbers"]}
        free = [number for number in range(3) if number not in used_numbers]
        return {"numbers": free[: request.amounts[""]["CUSTOM_LICENCE"]]}

    def report(self, assignments: Sequence[Assignment]) -> dict[str, Any]:
        return {"metrics": {"licences": 3.0 - len(assignments)}, "facts": {"licensed": True}}

    def describe(self, assignment: Assignment) -> str:
        return f"licences {assignment['numbers']}"


Install = Callable[..., Node]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return a factory of nodes on an installation with further kinds."""
    built_in = importlib.metadata.entry_points(group=loading.GROUP)

    def install_kinds(text: str = "", **kinds: Any) -> Node:
        more = [SimpleNamespace(name=name, load=lambda kind=kind: kind) for name, kind in kinds.items()]
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [*built_in, *more])
        return machines.node("[compute]\nhosts = alpha\n" + text)

    yield install_kinds


def admit(
    tracker: ResourceTracker, uuid: str, requirements: BuildRequirements | None = None, amount: int = 1
) -> Attempt | str:
    allocations = {"alpha/node0": {"VCPU": 1, "CUSTOM_LICENCE": amount}}
    intent = Attempt(uuid, 1, Stage.INTENT, 0, name="alpha/node0", allocations=allocations)
    return tracker.admit(intent, requirements or BuildRequirements())


def test_plugin_kind_declares_inventory_assigns_and_reports(install: Install) -> None:
    node = install(licence=Licences)
    assert node.shape.inventories["CUSTOM_LICENCE"] == Inventory(3)
    assert node.shape.traits == ("CUSTOM_LICENSED",)
    tracker = ResourceTracker([node])
    for number in range(3):
        attempt = admit(tracker, str(number))
        assert isinstance(attempt, Attempt)
        assert attempt.assignments == {"licence": {"numbers": [number]}}
        tracker.hold(attempt)
    assert tracker.kind_reports(node) == {"metrics": {"licences": 0.0}, "facts": {"licensed": True}}
    assert tracker.describe(attempt) == "licences [2]"
    tracker.drop(attempt.ref)
    assert tracker.kind_reports(node)["metrics"] == {"licences": 1.0}
    reason = admit(tracker, "gold", BuildRequirements(hints={"licence": "gold"}))
    assert reason == "node alpha/node0: there are no golden licences"


def test_kind_is_called_only_for_guests_with_its_classes(install: Install) -> None:
    requests: list[AssignmentRequest] = []

    class Curious(Licences):
        def assign(self, request: AssignmentRequest, assignments: Sequence[Assignment]) -> Assignment | str:
            requests.append(request)
            return {}

    tracker = ResourceTracker([install(licence=Curious)])
    flat = Attempt("a", 1, Stage.INTENT, 0, name="alpha/node0", allocations={"alpha/node0": {"VCPU": 1}})
    assert tracker.admit(flat, BuildRequirements()) == flat
    assert not requests
    assert admit(tracker, "b") == replace(flat, uuid="b", allocations={"alpha/node0": {"VCPU": 1, "CUSTOM_LICENCE": 1}})
    assert [request.amounts for request in requests] == [{"": {"CUSTOM_LICENCE": 1}}]


class Broken(Licences):
    """Fails in the method that a test sets."""

    fails = ""

    def _perhaps(self, where: str) -> None:
        if where == self.fails:
            raise RuntimeError("the licence server is away")

    def inventory(self) -> Sequence[NodeProvider]:
        self._perhaps("inventory")
        return super().inventory()

    def assign(self, request: AssignmentRequest, assignments: Sequence[Assignment]) -> Assignment | str:
        self._perhaps("assign")
        return {"numbers": {1}} if self.fails == "journal" else super().assign(request, assignments)

    def report(self, assignments: Sequence[Assignment]) -> dict[str, Any]:
        self._perhaps("report")
        return super().report(assignments)

    def describe(self, assignment: Assignment) -> str:
        self._perhaps("describe")
        return super().describe(assignment)


def broken(where: str) -> type[Broken]:
    return type("Broken", (Broken,), {"fails": where})


@pytest.mark.parametrize("where", ["assign", "journal"])
def test_kind_that_fails_to_assign_refuses_with_its_name(
    install: Install, caplog: pytest.LogCaptureFixture, where: str
) -> None:
    tracker = ResourceTracker([install(licence=broken(where))])
    attempt = admit(tracker, "a")
    assert isinstance(attempt, str)
    assert attempt.startswith("node alpha/node0: resource kind 'licence' failed: ")
    assert "Resource kind licence failed to assign" in caplog.text


def test_kind_with_failing_inventory_is_logged_and_left_out(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    node = install(licence=broken("inventory"))
    assert "CUSTOM_LICENCE" not in node.shape.inventories
    assert "VCPU" in node.shape.inventories
    assert "Resource kind licence is left out of [shape:default]" in caplog.text


def test_kind_that_fails_to_report_or_describe_adds_nothing(install: Install) -> None:
    for where in ("report", "describe"):
        node = install(licence=broken(where))
        tracker = ResourceTracker([node])
        attempt = admit(tracker, "a")
        assert isinstance(attempt, Attempt)
        tracker.hold(attempt)
        assert bool(tracker.kind_reports(node)) == (where == "describe")
        assert bool(tracker.describe(attempt)) == (where == "report")


@pytest.mark.parametrize(
    "report",
    [
        None,
        {"inventories": {}},
        {"traits": []},
        {"metrics": {"licences": "three"}},
        {"metrics": {"licences": float("nan")}},
        {"metrics": {1: 1.0}},
        {"metrics": [3.0]},
        {"facts": {"licence": object()}},
        {"facts": {"licence": "x" * 20_000}},
        {"numa": {"id": 0}},
        {"numa": ["cell 0"]},
    ],
)
def test_invalid_report_of_kind_is_dropped(install: Install, caplog: pytest.LogCaptureFixture, report: Any) -> None:
    node = install(licence=type("Odd", (Licences,), {"report": lambda self, assignments: report}))
    assert ResourceTracker([node]).kind_reports(node) == {}
    assert "Resource kind licence failed to report" in caplog.text


@pytest.mark.parametrize("words", [None, 3, ["licence"]])
def test_description_that_is_no_string_is_dropped(install: Install, words: Any) -> None:
    tracker = ResourceTracker([install(licence=type("Odd", (Licences,), {"describe": lambda self, assignment: words}))])
    attempt = admit(tracker, "a")
    assert isinstance(attempt, Attempt)
    assert tracker.describe(attempt) == ""


@pytest.mark.parametrize(
    "inventory",
    [
        [NodeProvider("", {"VCPU": Inventory(1)})],  # another kind's
        [NodeProvider("", {"LICENCES": Inventory(1)})],
        [NodeProvider("", traits=("LICENSED",))],
        [NodeProvider("", {"CUSTOM_LICENCE": Inventory(1, reserved=2)})],
        [NodeProvider("", {"CUSTOM_LICENCE": {"total": 1}})],
        [NodeProvider("a b")],
        [NodeProvider("/a")],
        ["licences"],
    ],
)
def test_kind_with_invalid_inventory_is_left_out(
    install: Install, caplog: pytest.LogCaptureFixture, inventory: Any
) -> None:
    kind = type("Odd", (Licences,), {"inventory": lambda self: inventory})
    node = install(licence=kind)
    # given a node as without that kind, and a log line
    assert sorted(node.shape.inventories) == ["DISK_GB", "MEMORY_MB", "VCPU"]
    assert "Resource kind licence is left out" in caplog.text


def test_missing_parent_aborts_the_start(install: Install) -> None:
    orphan = [NodeProvider("rack/licence", {"CUSTOM_LICENCE": Inventory(1)}, parent="rack")]
    with pytest.raises(errors.BadConfiguration, match="provider rack/licence has a missing parent"):
        install(licence=type("Orphan", (Licences,), {"inventory": lambda self: orphan}))


def test_invalid_option_of_kind_aborts_the_start(install: Install) -> None:
    class Configured(Licences):
        @classmethod
        def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> ResourceKind | None:
            conf.register_opt(cfg.IntOpt("licences", default=0), group=group)
            return cls() if conf[group].licences else None

    assert "CUSTOM_LICENCE" in install("[shape:x]\nlicences = 3\n", licence=Configured).shape.inventories
    assert "CUSTOM_LICENCE" not in install("[shape:x]\n", licence=Configured).shape.inventories
    with pytest.raises(errors.BadConfiguration, match="licences"):
        install("[shape:x]\nlicences = many\n", licence=Configured)


def test_start_without_resource_kinds_is_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [])
    with pytest.raises(errors.BadConfiguration, match="install gantt again"):
        shapes.from_conf(cfg.ConfigOpts())
