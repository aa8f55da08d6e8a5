# SPDX-License-Identifier: Apache-2.0
"""Observers: guests that begin, end and run twice; a claim's writes as MONITOR of a real server prints them."""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from devstack.lab.chaos import history
from devstack.lab.chaos.claim_model import check_claims
from devstack.lab.chaos.history import HistoryWriter
from devstack.lab.chaos.observers import ClaimObserver, GuestObserver
from devstack.servers.redis import RedisServer
from rpcapi.redis_failover.scripts import LuaScript
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.redis import connect, scripts
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import LONG_MS, SMALL, poll, running


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The history file."""
    return tmp_path / "history"


def guest(state: Path, host: str, uuid: str, attempt: int, **power: bool) -> Path:
    """Write a guest's file, as the agent replaces it."""
    folder = state / host / "guests"
    folder.mkdir(parents=True, exist_ok=True)
    (state / host / "journal").touch()
    path = folder / f"{uuid}@{attempt}.json"
    fresh = folder / f".{uuid}@{attempt}.new"
    fresh.write_text(json.dumps({"uuid": uuid, "attempt": attempt, "name": host, "running_at_ms": 0, **power}))
    return fresh.replace(path)


def test_guests_that_begin_and_end(tmp_path: Path, file: Path) -> None:
    observer = GuestObserver([tmp_path / "state"], HistoryWriter(file))
    path = guest(tmp_path / "state", "h1", "a", 1)
    observer.scan()
    observer.scan()
    path.unlink()
    later = guest(tmp_path / "state", "h1", "a", 2)
    observer.scan()
    later.unlink()
    observer.scan()
    assert [(item.uuid, item.attempt, item.ended) for item in history.read(file).guests] == [
        ("a", 1, False),
        ("a", 1, True),
        ("a", 2, False),
        ("a", 2, True),
    ]


def test_folder_without_a_change_is_not_read_again(tmp_path: Path, file: Path) -> None:
    observer = GuestObserver([tmp_path / "state"], HistoryWriter(file))
    path = guest(tmp_path / "state", "h1", "a", 1)
    folder = path.parent
    # Given a folder that changed long ago, and then one that changed just now
    os.utime(folder, ns=(0, 0))
    observer.scan()
    path.unlink()
    os.utime(folder, ns=(0, 0))
    observer.scan()
    assert [item.ended for item in history.read(file).guests] == [False]
    os.utime(folder)
    observer.scan()
    assert [item.ended for item in history.read(file).guests] == [False, True]


def test_second_copy_of_a_guest(tmp_path: Path, file: Path) -> None:
    observer = GuestObserver([tmp_path / "state"], HistoryWriter(file))
    first = guest(tmp_path / "state", "h1", "a", 1)
    observer.scan()
    guest(tmp_path / "state", "h2", "a", 2)
    observer.scan()
    # A copy that ended before the next one appeared is none
    first.unlink()
    guest(tmp_path / "state", "h3", "b", 1)
    guest(tmp_path / "state", "h1", "b", 1).unlink()
    observer.scan()
    assert [(item.host, list(item.others)) for item in history.read(file).guests if item.others] == [
        ("h2", ["attempt 1 on h1"])
    ]


def test_guest_that_moves_is_no_second_copy_until_both_run(tmp_path: Path, file: Path) -> None:
    state = tmp_path / "state"
    observer = GuestObserver([state], HistoryWriter(file))
    guest(state, "h1", "a", 1)
    observer.scan()
    # Given a guest that waits for the copy, and then a source that has stopped
    guest(state, "h2", "a", 2, is_paused=True)
    observer.scan()
    guest(state, "h1", "a", 1, is_paused=True)
    guest(state, "h2", "a", 2)
    observer.scan()
    assert not [item for item in history.read(file).guests if item.others]
    # When the source runs again
    guest(state, "h1", "a", 1)
    observer.scan()
    assert [(item.host, list(item.others)) for item in history.read(file).guests if item.others] == [
        ("h1", ["attempt 2 on h2"])
    ]


def test_both_ends_of_a_move_on_one_host(tmp_path: Path, file: Path) -> None:
    state = tmp_path / "state"
    observer = GuestObserver([state], HistoryWriter(file))
    guest(state, "h1", "a", 1, is_off=True)
    guest(state, "h1", "a", 2)
    observer.scan()
    assert not [item for item in history.read(file).guests if item.others]
    guest(state, "h1", "a", 1)
    observer.scan()
    assert [list(item.others) for item in history.read(file).guests if item.others] == [["attempt 2 on h1"]]


def test_writes_of_claims(make_redis: Callable[..., RedisServer], file: Path) -> None:
    server = make_redis()
    partition = redis_partition(server)
    name = partition.store.partition
    partition.add_host("h1")
    observer = ClaimObserver(server, name, HistoryWriter(file))
    observer.start()
    with server.client() as client:
        poll(lambda: any(row["cmd"] == "monitor" for row in client.client_list()), 20)
    ref = partition.hold("a", "h1")
    partition.prepare("b", "h1")
    partition.store.abort([ClaimRef("b", 1)])
    partition.store.release("h1", [ref])
    epoch = partition.new_epoch()
    poll(lambda: history.read(file).claims and history.read(file).claims[-1].epoch == epoch, 20)
    observer.stop()
    partition.store.close()
    claims = [item for item in history.read(file).claims if item.consumer]
    assert [(item.consumer, item.attempt, item.state) for item in claims] == [
        ("a", 1, "prepared"),
        ("a", 1, "confirmed"),
        ("b", 1, "prepared"),
        ("b", 1, "aborted"),
        ("a", 1, "released"),
    ]
    assert [item.allocations for item in claims[:3]] == [{"h1": SMALL}] * 3 and not claims[-1].allocations
    assert not history.read(file).uses


def test_writes_of_a_claim_that_moves_and_returns(make_redis: Callable[..., RedisServer], file: Path) -> None:
    server = make_redis()
    partition = redis_partition(server)
    partition.add_host("h1")
    observer = ClaimObserver(server, partition.store.partition, HistoryWriter(file))
    observer.start()
    with server.client() as client:
        poll(lambda: any(row["cmd"] == "monitor" for row in client.client_list()), 20)
    ref = partition.hold("a", "h1")
    partition.store.begin_moves([ref], ["m"])
    partition.store.end_moves([ref], ["m"])
    partition.store.release("h1", [ref])
    poll(lambda: [item.state for item in history.read(file).claims if item.consumer == "a"][-1:] == ["released"], 20)
    observer.stop()
    partition.store.close()
    claims = [item for item in history.read(file).claims if item.consumer == "a"]
    assert {item.attempt for item in claims} == {1}
    assert [item.state for item in claims] == ["prepared", "confirmed", "source", "confirmed", "released"]
    assert not list(check_claims(history.read(file).claims))


def test_epoch_that_began_before_the_observer(make_redis: Callable[..., RedisServer], file: Path) -> None:
    # A restarted server's first write is its new epoch, and it may precede MONITOR
    server = make_redis()
    partition = redis_partition(server)
    partition.add_host("h1")
    epoch = partition.new_epoch()
    observer = ClaimObserver(server, partition.store.partition, HistoryWriter(file))
    observer.start()
    poll(lambda: [item.epoch for item in history.read(file).claims] == [epoch], 20)
    observer.stop()
    partition.store.close()


def test_sums_beyond_capacity(make_redis: Callable[..., RedisServer], file: Path) -> None:
    observer = ClaimObserver(make_redis(), "p", HistoryWriter(file))
    observer.apply(r'"HSET" "gantt:{p:p}:capacity" "h1" "{\"VCPU\":[4,1,4,1],\"MEMORY_MB\":64}"', 1.5)
    for partition, used in (("p", 4), ("p", 5), ("other", 5)):
        observer.apply(rf'"HSET" "gantt:{{p:{partition}}}:used" "h1" "{{\"VCPU\":{used},\"MEMORY_MB\":64}}"', 1.5)
        observer.end_script()
    (use,) = history.read(file).uses
    assert (use.provider, use.resource_class, use.used, use.capacity) == ("h1", "VCPU", 5, 4) and use.at == 1.5
    assert (use.before, list(use.states)) == (4, [])


def test_sums_beyond_capacity_are_noted_when_they_rise_with_the_claims_of_their_script(
    make_redis: Callable[..., RedisServer], file: Path
) -> None:
    observer = ClaimObserver(make_redis(), "p", HistoryWriter(file))
    observer.apply(r'"HSET" "gantt:{p:p}:capacity" "h1" "{\"VCPU\":4}"', 1.0)
    for number, (states, used) in enumerate([(["confirmed"], 6), ([], 5), (["prepared"], 6), (["prepared"], 4)]):
        for state in states:
            values = {"consumer": f"c{number}", "attempt": 1, "state": state, "host": "h1", "allocations": {}}
            claim = json.dumps(values).replace('"', r"\"")
            observer.apply(rf'"HSET" "gantt:{{p:p}}:claims" "c{number}" "{claim}"', 2.0)
        observer.apply(rf'"HSET" "gantt:{{p:p}}:used" "h1" "{{\"VCPU\":{used}}}"', 2.0)
        observer.end_script()
    uses = history.read(file).uses
    assert [(use.used, use.before, list(use.states)) for use in uses] == [(6, 0, ["confirmed"]), (6, 5, ["prepared"])]


@pytest.mark.parametrize("is_fixed", [True, False])
def test_only_a_prepared_claim_oversells_a_host_of_a_restored_backup(
    make_redis: Callable[..., RedisServer], file: Path, monkeypatch: pytest.MonkeyPatch, is_fixed: bool
) -> None:
    if not is_fixed:
        load = scripts.load

        def load_without_check(name: str) -> LuaScript:
            script = load(name)
            text = script.text.replace("if total > capacity_in(unit) then", "if false then")
            assert text != script.text or name != "prepare"
            return replace(script, text=text, sha=hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())

        monkeypatch.setattr(connect, "load", load_without_check)
    server = make_redis()
    partition = redis_partition(server)
    partition.add_host("h1", amounts={"VCPU": 1})
    observer = ClaimObserver(server, partition.store.partition, HistoryWriter(file))
    observer.start()
    with server.client() as client:
        poll(lambda: any(row["cmd"] == "monitor" for row in client.client_list()), 20)
    partition.hold("old", "h1", resources={"VCPU": 1})
    epoch = partition.new_epoch()
    partition.store.audit("h1", epoch, [running(ClaimRef("new", 1), "h1", amounts={"VCPU": 1})], LONG_MS)
    assert partition.used("h1") == {"VCPU": 2}
    partition.prepare("more", "h1", resources={"VCPU": 1})
    epoch = partition.new_epoch()
    poll(lambda: history.read(file).claims and history.read(file).claims[-1].epoch == epoch, 20)
    observer.stop()
    partition.store.close()
    uses = [use for use in history.read(file).uses if not use.is_reasserted]
    assert [(use.used, use.before) for use in uses] == ([] if is_fixed else [(3, 2)])
    assert [use.used for use in history.read(file).uses if use.is_reasserted] == [2]
