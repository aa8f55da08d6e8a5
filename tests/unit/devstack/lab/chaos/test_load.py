# SPDX-License-Identifier: Apache-2.0
"""Callers: what they are answered is in the history, and a call without an answer is repeated as the same call."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import oslo_messaging as messaging
import pytest

from devstack.lab.chaos import history, load
from devstack.lab.chaos.history import CallOutcome, HistoryWriter
from devstack.lab.chaos.load import HistoryCaller, Population
from rpcapi import errors

SIZE = {"VCPU": 1}


class Conductor:
    """Raises the planned errors, one a call, then answers."""

    def __init__(self, *planned: Exception) -> None:
        self.planned = list(planned)
        self.calls: list[tuple[str, list[str]]] = []
        self.first_sent: set[float] = set()

    def build_instances(self, _ctxt: object, _spec: object, uuids: list[str], first_sent: float) -> None:
        self.first_sent.add(first_sent)
        self._answer("boot", uuids)

    def delete_instances(self, _ctxt: object, uuids: list[str]) -> None:
        self._answer("delete", uuids)

    def get_instances(self, _ctxt: object, uuids: list[str]) -> Any:
        self._answer("list", uuids)
        return SimpleNamespace(instances=[SimpleNamespace(uuid=uuid, status="ACTIVE") for uuid in uuids])

    def _answer(self, verb: str, uuids: list[str]) -> None:
        self.calls.append((verb, uuids))
        if self.planned:
            raise self.planned.pop(0)


def caller(tmp_path: Path, conductor: Conductor) -> HistoryCaller:
    """Return a caller of this conductor."""
    created = HistoryCaller(tmp_path / "none.conf", HistoryWriter(tmp_path / "history"))
    context = SimpleNamespace(with_timeout=lambda seconds: None)
    created.session = SimpleNamespace(conductor=conductor, ctxt=context, new_request=lambda: "")  # type: ignore[assignment]
    return created


def outcomes(tmp_path: Path) -> list[tuple[str, CallOutcome]]:
    """Return the calls in the history."""
    return [(item.verb, item.outcome) for item in history.read(tmp_path / "history").operations]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "PAUSE", 0.0)


def test_call_is_repeated_until_it_is_answered(tmp_path: Path) -> None:
    conductor = Conductor(messaging.MessagingTimeout(), errors.StoreUnavailable(why="down"))
    assert caller(tmp_path, conductor).boot(SIZE, ["a"], lambda: False)
    assert conductor.calls == [("boot", ["a"])] * 3
    assert len(conductor.first_sent) == 1
    assert outcomes(tmp_path) == [("boot", CallOutcome.ACKNOWLEDGED)]


def test_call_that_is_given_up_is_unknown(tmp_path: Path) -> None:
    conductor = Conductor(messaging.MessagingTimeout())
    assert not caller(tmp_path, conductor).delete(["a"], lambda: True)
    assert outcomes(tmp_path) == [("delete", CallOutcome.UNKNOWN)]


def test_definite_error_is_refused(tmp_path: Path) -> None:
    conductor = Conductor(errors.UnknownInstance(uuid="a"))
    assert not caller(tmp_path, conductor).delete(["a"], lambda: False)
    assert outcomes(tmp_path) == [("delete", CallOutcome.REFUSED)]


def test_statuses_are_recorded(tmp_path: Path) -> None:
    conductor = Conductor(messaging.MessagingTimeout())
    lister = caller(tmp_path, conductor)
    assert lister.statuses(["a"]) == {}
    assert lister.statuses(["a"]) == {"a": "ACTIVE"}
    assert history.read(tmp_path / "history").operations[1].statuses == {"a": "ACTIVE"}


def test_population() -> None:
    population, chance = Population(), random.Random(1)
    population.add(["a", "b", "c"])
    victims = population.take(chance, 2)
    assert len(victims) == 2 and len(population) == 1 and population.acknowledged == 3
    assert {*victims, *population.take(chance, 5)} == {"a", "b", "c"}
