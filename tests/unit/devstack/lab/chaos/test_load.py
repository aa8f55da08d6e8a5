# SPDX-License-Identifier: Apache-2.0
"""Callers: what they are answered is in the history, and a call without an answer is repeated as the same call."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import oslo_messaging as messaging
import pytest

from devstack.lab.chaos import history, load
from devstack.lab.chaos.changes import CHANGES
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
        self.by_uuid: dict[str, str] = {}

    def build_instances(self, _ctxt: object, _spec: object, uuids: list[str], first_sent: float) -> None:
        self.first_sent.add(first_sent)
        self._answer("boot", uuids)

    def delete_instances(self, _ctxt: object, uuids: list[str]) -> None:
        self._answer("delete", uuids)

    def get_instances(self, _ctxt: object, uuids: list[str]) -> Any:
        self._answer("list", uuids)
        rows = [SimpleNamespace(uuid=uuid, status=self.by_uuid.get(uuid, "ACTIVE")) for uuid in uuids]
        return SimpleNamespace(instances=rows)

    def __getattr__(self, name: str) -> Any:
        verb = {change.method: verb for verb, change in CHANGES.items()}[name]
        return lambda _ctxt, uuids, *_migrations, **_values: self._answer(verb, uuids)

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


def test_change_calls_its_method(tmp_path: Path) -> None:
    conductor = Conductor(messaging.MessagingTimeout())
    assert caller(tmp_path, conductor).change("stop", ["a"], lambda: False)
    assert conductor.calls == [("stop", ["a"])] * 2
    assert outcomes(tmp_path) == [("stop", CallOutcome.ACKNOWLEDGED)]


@pytest.fixture
def idle_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> load.ChaosLoad:
    monkeypatch.setattr(load, "FOLLOW_POLL", 0.0)
    return load.ChaosLoad(tmp_path / "none.conf", HistoryWriter(tmp_path / "other"), "seed", callers=0)


def test_only_instances_in_a_status_in_which_the_change_is_possible_are_changed(
    tmp_path: Path, idle_load: load.ChaosLoad
) -> None:
    conductor = Conductor()
    conductor.by_uuid = {"a": "SHUTOFF", "b": "ERROR", "c": "STOPPING"}
    idle_load.population.add(["a", "b", "c"])
    chance = random.Random(5)
    for _ in range(20):
        idle_load._change(caller(tmp_path, conductor), chance)
    changed = {(verb, *uuids) for verb, uuids in conductor.calls if verb != "list"}
    allowed = ("start", "rebuild", "shelve", "migrate", "resize")
    assert changed <= {(verb, "a") for verb in allowed}
    assert len(changed) > 1
    assert sorted(idle_load.population.take(chance, 5)) == ["a", "b", "c"], "each is put back once"


def test_end_of_a_move_names_its_migration(tmp_path: Path, idle_load: load.ChaosLoad) -> None:
    conductor, chance = Conductor(), random.Random(1)
    requester = caller(tmp_path, conductor)
    assert idle_load._request(requester, chance, "migrate", ["a", "b"])
    (migration, other) = (idle_load.population.migrations[uuid] for uuid in ("a", "b"))
    # Given one more that is refused, then the last one that was accepted is confirmed
    conductor.planned.append(errors.InstanceConflict(uuid="a", why="it is VERIFY_RESIZE"))
    assert not idle_load._request(requester, chance, "resize", ["a"])
    assert idle_load._request(requester, chance, "confirm", ["a", "c"])
    assert conductor.calls[-1] == ("confirm", [migration])
    run = history.read(tmp_path / "history")
    assert run.migrations(["migrate"]) == {migration: "a", other: "b"}
    assert run.migrations(["confirm"]) == {migration: "a"}


def test_instances_are_put_back_when_nothing_is_answered(tmp_path: Path, idle_load: load.ChaosLoad) -> None:
    conductor = Conductor(*[messaging.MessagingTimeout()] * 2)
    idle_load.population.add(["a"])
    for _ in range(2):
        idle_load._change(caller(tmp_path, conductor), random.Random(1))
    assert [verb for verb, _uuids in conductor.calls] == ["list", "list"]
    assert len(idle_load.population) == 1


def test_population() -> None:
    population, chance = Population(), random.Random(1)
    population.add(["a", "b", "c"])
    victims = population.take(chance, 2)
    assert len(victims) == 2 and len(population) == 1 and population.acknowledged == 3
    assert {*victims, *population.take(chance, 5)} == {"a", "b", "c"}
