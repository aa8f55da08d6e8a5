# SPDX-License-Identifier: Apache-2.0
"""What a look at the service group makes of who lives: absences, outages, and a group that comes back."""

import pytest

from rpcapi import errors
from scheduler_svc.servicegroup.watch import ServiceGroupWatcher
from scheduler_svc.store.memory import MemoryStore
from tests.unit.scheduler_svc.hosts import join, node

GRACE, SETTLING = 5.0, 20.0


class Group:
    def __init__(self, *there):
        self.there = set(there)
        self.away = False

    def members(self):
        if self.away:
            raise errors.Unavailable(what="The service group", why="test")
        return frozenset(self.there)


class Sight:
    """A store of three hosts, a group, and a watch whose clock the test moves."""

    def __init__(self):
        self.store = MemoryStore("default", liveness="group")
        join(self.store, {name: node() for name in ("a", "b", "c")})
        self.group = Group("a", "b", "c")
        self.now = 100.0
        self.watch = self.restarted()
        self.look()

    def restarted(self):
        return ServiceGroupWatcher(self.store, self.group, grace=GRACE, settling=SETTLING, clock=lambda: self.now)

    def look(self, after=0.0):
        self.now += after
        self.watch.poll()

    @property
    def alive(self):
        return {name for name, alive in self.store.snapshot().alive.items() if alive}


@pytest.fixture
def sight():
    return Sight()


def test_who_is_in_the_group_lives(sight):
    assert sight.alive == {"a", "b", "c"}


def test_who_never_came_does_not():
    store = MemoryStore("default", liveness="group")
    join(store, {"a": node(), "b": node()})
    ServiceGroupWatcher(store, Group("b", "stranger"), grace=GRACE, settling=SETTLING).poll()
    assert {name: bool(alive) for name, alive in store.snapshot().alive.items() if alive} == {"b": True}


def test_who_is_missing_is_dead_after_the_grace_and_not_before(sight):
    sight.group.there.discard("a")
    sight.look(after=GRACE - 1)
    assert sight.alive == {"a", "b", "c"}
    sight.look(after=1)
    assert sight.alive == {"b", "c"}
    sight.group.there.add("a")
    sight.look()
    assert sight.alive == {"a", "b", "c"}


def test_nobody_dies_because_the_group_is_away(sight):
    sight.group.away = True
    sight.look(after=10 * SETTLING)
    assert sight.alive == {"a", "b", "c"}


def test_after_an_outage_everybody_has_time_to_come_back(sight):
    sight.group.away = True
    sight.look(after=100)
    sight.group.away, sight.group.there = False, {"b"}
    sight.look(after=1)
    assert sight.alive == {"a", "b", "c"}
    sight.group.there = {"a", "b"}
    sight.look(after=SETTLING - 1)
    assert sight.alive == {"a", "b", "c"}
    sight.look(after=1)
    assert sight.alive == {"a", "b"}


def test_a_watch_that_is_new_believes_what_the_store_knew_for_a_while(sight):
    sight.group.there = {"b"}
    sight.watch = sight.restarted()
    sight.look()
    assert sight.alive == {"a", "b", "c"}
    sight.look(after=SETTLING)
    assert sight.alive == {"b"}


def test_what_does_not_change_is_not_logged(sight):
    before = sight.store.state.position
    for _ in range(3):
        sight.look(after=1)
    assert sight.store.state.position == before
