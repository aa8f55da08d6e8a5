# SPDX-License-Identifier: Apache-2.0
"""Kinds of resources from anywhere, and what faulty ones may not break."""

import importlib.metadata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from oslo_config import cfg

from compute_agent import shapes
from compute_agent.attempt import Attempt, Stage
from compute_agent.kinds import loading
from compute_agent.kinds.kind import Assignment, AssignmentRequest, NodeProvider, ResourceKind
from compute_agent.nodes import Node
from compute_agent.tracker import ResourceTracker
from compute_agent.wish import BuildRequirements
from rpcapi import errors
from rpcapi.model.inventory import Inventory
from tests.unit.compute_agent import machines


class Licences(ResourceKind):
    """What a kind from outside may look like: numbered licences."""

    classes: tuple[str, ...] = ("CUSTOM_LICENCE",)

    @classmethod
    def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> ResourceKind | None:
        return cls()

    def inventory(self) -> Sequence[NodeProvider]:
        return [NodeProvider("", {name: Inventory(3) for name in self.classes}, ("CUSTOM_LICENSED",))]

    def assign(self, asked: AssignmentRequest, taken: Sequence[Assignment]) -> Assignment | str:
        if asked.requirements.hints.get("licence") == "gold":
            return "there are no golden licences"
        gone = {number for assignment in taken for number in assignment["numbers"]}
        free = [number for number in range(3) if number not in gone]
        return {"numbers": free[: asked.amounts[""]["CUSTOM_LICENCE"]]}

    def report(self, taken: Sequence[Assignment]) -> dict[str, Any]:
        return {"metrics": {"licences": 3.0 - len(taken)}, "facts": {"licensed": True}}

    def describe(self, assignment: Assignment) -> str:
        return f"licences {assignment['numbers']}"


Install = Callable[..., Node]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return what makes a node on an installation with further kinds."""
    built_in = importlib.metadata.entry_points(group=loading.GROUP)

    def made(text: str = "", **kinds: Any) -> Node:
        more = [SimpleNamespace(name=name, load=lambda kind=kind: kind) for name, kind in kinds.items()]
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [*built_in, *more])
        return machines.node("[compute]\nhosts = alpha\n" + text)

    yield made


def admitted(
    tracker: ResourceTracker, uuid: str, wish: BuildRequirements | None = None, amount: int = 1
) -> Attempt | str:
    allocations = {"alpha/node0": {"VCPU": 1, "CUSTOM_LICENCE": amount}}
    intent = Attempt(uuid, 1, Stage.INTENT, 0, name="alpha/node0", allocations=allocations)
    return tracker.admit(intent, wish or BuildRequirements())


def test_a_kind_from_outside_inventories_assigns_and_reports(install: Install) -> None:
    node = install(licence=Licences)
    assert node.shape.inventories["CUSTOM_LICENCE"] == Inventory(3)
    assert node.shape.traits == ("CUSTOM_LICENSED",)
    tracker = ResourceTracker([node])
    for number in range(3):
        got = admitted(tracker, str(number))
        assert isinstance(got, Attempt)
        assert got.assignments == {"licence": {"numbers": [number]}}
        tracker.hold(got)
    assert tracker.kind_reports(node) == {"metrics": {"licences": 0.0}, "facts": {"licensed": True}}
    assert tracker.describe(got) == "licences [2]"
    tracker.drop(got.ref)
    assert tracker.kind_reports(node)["metrics"] == {"licences": 1.0}
    refused = admitted(tracker, "gold", BuildRequirements(hints={"licence": "gold"}))
    assert refused == "node alpha/node0: there are no golden licences"


def test_a_kind_is_asked_only_for_what_is_its_own(install: Install) -> None:
    asked: list[AssignmentRequest] = []

    class Curious(Licences):
        def assign(self, one: AssignmentRequest, taken: Sequence[Assignment]) -> Assignment | str:
            asked.append(one)
            return {}

    tracker = ResourceTracker([install(licence=Curious)])
    flat = Attempt("a", 1, Stage.INTENT, 0, name="alpha/node0", allocations={"alpha/node0": {"VCPU": 1}})
    assert tracker.admit(flat, BuildRequirements()) == flat
    assert not asked
    assert admitted(tracker, "b") == replace(
        flat, uuid="b", allocations={"alpha/node0": {"VCPU": 1, "CUSTOM_LICENCE": 1}}
    )
    assert [one.amounts for one in asked] == [{"": {"CUSTOM_LICENCE": 1}}]


class Broken(Licences):
    """Fails in the way that a test sets."""

    fails = ""

    def _perhaps(self, where: str) -> None:
        if where == self.fails:
            raise RuntimeError("the licence server is away")

    def inventory(self) -> Sequence[NodeProvider]:
        self._perhaps("inventory")
        return super().inventory()

    def assign(self, asked: AssignmentRequest, taken: Sequence[Assignment]) -> Assignment | str:
        self._perhaps("assign")
        return {"numbers": {1}} if self.fails == "journal" else super().assign(asked, taken)

    def report(self, taken: Sequence[Assignment]) -> dict[str, Any]:
        self._perhaps("report")
        return super().report(taken)

    def describe(self, assignment: Assignment) -> str:
        self._perhaps("describe")
        return super().describe(assignment)


def broken(where: str) -> type[Broken]:
    return type("Broken", (Broken,), {"fails": where})


@pytest.mark.parametrize("where", ["assign", "journal"])
def test_one_that_fails_to_assign_refuses_under_its_name(
    install: Install, caplog: pytest.LogCaptureFixture, where: str
) -> None:
    tracker = ResourceTracker([install(licence=broken(where))])
    got = admitted(tracker, "a")
    assert isinstance(got, str)
    assert got.startswith("node alpha/node0: resource kind 'licence' failed: ")
    assert "Resource kind licence failed to assign" in caplog.text


def test_one_whose_inventory_fails_is_left_out_and_told_loudly(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    node = install(licence=broken("inventory"))
    assert "CUSTOM_LICENCE" not in node.shape.inventories
    assert "VCPU" in node.shape.inventories
    assert "Resource kind licence is left out of [shape:default]" in caplog.text


def test_one_that_fails_to_report_or_describe_is_left_out_there(install: Install) -> None:
    for where in ("report", "describe"):
        node = install(licence=broken(where))
        tracker = ResourceTracker([node])
        got = admitted(tracker, "a")
        assert isinstance(got, Attempt)
        tracker.hold(got)
        assert bool(tracker.kind_reports(node)) == (where == "describe")
        assert bool(tracker.describe(got)) == (where == "report")


@pytest.mark.parametrize(
    "told",
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
def test_one_that_reports_what_nobody_can_take_is_left_out_of_the_report(
    install: Install, caplog: pytest.LogCaptureFixture, told: Any
) -> None:
    node = install(licence=type("Odd", (Licences,), {"report": lambda self, taken: told}))
    assert ResourceTracker([node]).kind_reports(node) == {}
    assert "Resource kind licence failed to report" in caplog.text


@pytest.mark.parametrize("words", [None, 3, ["licence"]])
def test_one_that_describes_by_something_else_than_words_is_not_quoted(install: Install, words: Any) -> None:
    tracker = ResourceTracker([install(licence=type("Odd", (Licences,), {"describe": lambda self, assignment: words}))])
    got = admitted(tracker, "a")
    assert isinstance(got, Attempt)
    assert tracker.describe(got) == ""


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
def test_an_inventory_that_makes_no_sense_is_left_out(
    install: Install, caplog: pytest.LogCaptureFixture, inventory: Any
) -> None:
    kind = type("Odd", (Licences,), {"inventory": lambda self: inventory})
    node = install(licence=kind)
    # given a node as it would be without that kind, and a word about it
    assert sorted(node.shape.inventories) == ["DISK_GB", "MEMORY_MB", "VCPU"]
    assert "Resource kind licence is left out" in caplog.text


def test_a_parent_that_is_not_there_ends_the_start(install: Install) -> None:
    orphan = [NodeProvider("rack/licence", {"CUSTOM_LICENCE": Inventory(1)}, parent="rack")]
    with pytest.raises(errors.BadConfiguration, match="provider rack/licence has a parent that is not there"):
        install(licence=type("Orphan", (Licences,), {"inventory": lambda self: orphan}))


def test_an_option_of_a_kinds_own_that_is_bad_ends_the_start(install: Install) -> None:
    class Configured(Licences):
        @classmethod
        def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> ResourceKind | None:
            conf.register_opt(cfg.IntOpt("licences", default=0), group=group)
            return cls() if conf[group].licences else None

    assert "CUSTOM_LICENCE" in install("[shape:x]\nlicences = 3\n", licence=Configured).shape.inventories
    assert "CUSTOM_LICENCE" not in install("[shape:x]\n", licence=Configured).shape.inventories
    with pytest.raises(errors.BadConfiguration, match="licences"):
        install("[shape:x]\nlicences = many\n", licence=Configured)


def test_without_any_kind_the_start_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [])
    with pytest.raises(errors.BadConfiguration, match="install gantt again"):
        shapes.from_conf(cfg.ConfigOpts())
