# SPDX-License-Identifier: Apache-2.0
"""The history file: what was written is read, by several writers and after a torn line."""

import itertools
from pathlib import Path

from devstack.lab.chaos import history
from devstack.lab.chaos.history import CallOutcome, ClaimSighting, GuestSighting, HistoryWriter


def writer(path: Path) -> HistoryWriter:
    """Return a writer whose clock counts."""
    ticks = itertools.count(1.0)
    return HistoryWriter(path, lambda: next(ticks))


def test_operations_have_their_outcomes(tmp_path: Path) -> None:
    path = tmp_path / "history"
    first, second = writer(path), writer(path)
    boot, delete = first.call("boot", ["a", "b"]), second.call("delete", ["a"])
    second.answer(delete, CallOutcome.REFUSED, "unknown instance")
    first.answer(boot, CallOutcome.ACKNOWLEDGED)
    first.call("delete", ["b"])
    read = history.read(path)
    assert [(item.verb, item.outcome, item.error) for item in read.operations] == [
        ("boot", CallOutcome.ACKNOWLEDGED, ""),
        ("delete", CallOutcome.REFUSED, "unknown instance"),
        ("delete", CallOutcome.UNKNOWN, ""),
    ]
    assert (read.operations[0].began_at, read.operations[0].ended_at) == (1.0, 2.0)
    assert read.operations[2].ended_at is None
    assert read.uuids("delete") == {"a", "b"}
    assert read.uuids("delete", [CallOutcome.UNKNOWN]) == {"b"}


def test_sightings_and_faults(tmp_path: Path) -> None:
    path = tmp_path / "history"
    lines = writer(path)
    lines.sighting("guest", host="h", uuid="a", attempt=1, ended=False, others=["attempt 2 on g"])
    lines.sighting("claim", partition="p", consumer="a", attempt=1, state="prepared", host="h/n")
    lines.sighting("claim", partition="p", epoch=2)
    lines.sighting("use", partition="p", provider="h/n", resource_class="VCPU", used=3, capacity=2)
    lines.fault(name="store killed", step="inject")
    read = history.read(path)
    assert read.guests == [GuestSighting(1.0, "h", "a", 1, False, ["attempt 2 on g"])]
    assert read.claims == [
        ClaimSighting(2.0, "p", "a", 1, "prepared", "h/n"),
        ClaimSighting(3.0, "p", epoch=2),
    ]
    assert [use.used for use in read.uses] == [3]
    assert read.faults == [{"at": 5.0, "name": "store killed", "step": "inject"}]


def test_torn_last_line_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "history"
    lines = writer(path)
    lines.call("boot", ["a"])
    with path.open("ab") as file:
        file.write(b'{"at": 9, "kind": "ans')
    assert [item.verb for item in history.read(path).operations] == ["boot"]


def test_missing_file_is_an_empty_history(tmp_path: Path) -> None:
    assert not history.read(tmp_path / "none").operations


def test_forgotten_calls_have_no_certain_outcome(tmp_path: Path) -> None:
    """Given a backup at 2.5 s that replaces the conductors' store at 7 s."""
    path = tmp_path / "history"
    lines = writer(path)
    for verb in ("before", "forgotten"):
        lines.answer(lines.call(verb, ["a"]), CallOutcome.ACKNOWLEDGED)
    refused = lines.call("refused", ["a"])
    lines.answer(refused, CallOutcome.REFUSED)
    lines.fault(name="restored", forgets_since=2.5)
    lines.answer(lines.call("after", ["a"]), CallOutcome.ACKNOWLEDGED)
    outcomes = {item.verb: (item.outcome, item.was_forgotten) for item in history.read(path).operations}
    assert outcomes == {
        "before": (CallOutcome.ACKNOWLEDGED, False),
        "forgotten": (CallOutcome.UNKNOWN, True),
        "refused": (CallOutcome.REFUSED, False),
        "after": (CallOutcome.ACKNOWLEDGED, False),
    }


def test_fence_may_be_forgotten_by_a_later_loss(tmp_path: Path) -> None:
    path = tmp_path / "history"
    lines = writer(path)
    lines.fault(name="emptied", loses_claims=True)
    lines.fault(name="lost", hosts=["h1"])
    lines.fault(name="restarted", loses_claims=False)
    lines.fault(name="emptied", loses_claims=True)
    read = history.read(path)
    unfenced = [
        (host, at) for host in ("h1", "h2") for at in (3.5, 4.5, 200.0) if read.may_have_forgotten_fence(host, at)
    ]
    assert unfenced == [("h1", 4.5)]
