# SPDX-License-Identifier: Apache-2.0
"""Liveness from a service group: absences, outages, and recovery of the group."""

import pytest

from rpcapi import errors
from scheduler_svc.replication.service_group import ServiceGroupWatcher
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler.hosts import join, node

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
    """A store of three hosts, a group, and a watcher on a clock that the test advances."""

    def __init__(self):
        self.store = MemoryStore("default", liveness="group")
        join(self.store, {name: node() for name in ("a", "b", "c")})
        self.group = Group("a", "b", "c")
        self.now = 100.0
        self.watch = self.restarted()
        self.poll_after()

    def restarted(self):
        return ServiceGroupWatcher(self.store, self.group, grace=GRACE, settling=SETTLING, clock=lambda: self.now)

    def poll_after(self, after=0.0):
        self.now += after
        self.watch.poll()

    @property
    def alive(self):
        return {name for name, alive in self.store.snapshot().alive.items() if alive}


@pytest.fixture
def world():
    return Sight()


def test_group_member_is_alive(world):
    assert world.alive == {"a", "b", "c"}


def test_service_that_never_joined_is_not_alive():
    store = MemoryStore("default", liveness="group")
    join(store, {"a": node(), "b": node()})
    ServiceGroupWatcher(store, Group("b", "stranger"), grace=GRACE, settling=SETTLING).poll()
    assert {name: bool(alive) for name, alive in store.snapshot().alive.items() if alive} == {"b": True}


def test_missing_service_is_dead_only_after_grace(world):
    world.group.there.discard("a")
    world.poll_after(after=GRACE - 1)
    assert world.alive == {"a", "b", "c"}
    world.poll_after(after=1)
    assert world.alive == {"b", "c"}
    world.group.there.add("a")
    world.poll_after()
    assert world.alive == {"a", "b", "c"}


def test_unavailable_group_marks_no_service_dead(world):
    world.group.away = True
    world.poll_after(after=10 * SETTLING)
    assert world.alive == {"a", "b", "c"}


def test_services_get_settling_time_after_an_outage(world):
    world.group.away = True
    world.poll_after(after=100)
    world.group.away, world.group.there = False, {"b"}
    world.poll_after(after=1)
    assert world.alive == {"a", "b", "c"}
    world.group.there = {"a", "b"}
    world.poll_after(after=SETTLING - 1)
    assert world.alive == {"a", "b", "c"}
    world.poll_after(after=1)
    assert world.alive == {"a", "b"}


def test_new_watcher_keeps_stored_liveness_for_settling_time(world):
    world.group.there = {"b"}
    world.watch = world.restarted()
    world.poll_after()
    assert world.alive == {"a", "b", "c"}
    world.poll_after(after=SETTLING)
    assert world.alive == {"b"}


def test_unchanged_liveness_is_not_logged(world):
    before = world.store.state.position
    for _ in range(3):
        world.poll_after(after=1)
    assert world.store.state.position == before
