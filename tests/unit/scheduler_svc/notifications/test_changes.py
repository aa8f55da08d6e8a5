# SPDX-License-Identifier: Apache-2.0
"""Changes of host state, read page by page: nothing is missing, or a resync says so."""

import pytest

from rpcapi import errors
from scheduler_svc.notifications import changes
from scheduler_svc.notifications.changes import LEASE_KEY, LEASE_NAMESPACE
from scheduler_svc.store.lease import DocumentLease
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler.hosts import join, node


@pytest.fixture
def store():
    return MemoryStore("default", namespaces=("rack", LEASE_NAMESPACE), log_length=20)


def put(store, watts):
    try:
        version, _ = store.get_state("rack", "a")
    except errors.UnknownHost:
        version = 0
    return store.put_state("rack", "a", version, {"watts": watts})


def test_pages_continue_where_the_last_one_ended(store):
    join(store, {"a/1": node()})
    epoch, start = store.state.epoch, store.state.position
    positions = [put(store, watts) for watts in range(5)]
    first = changes.read(store, epoch, start, changes.KINDS, 3)
    assert [change.position for change in first.changes] == positions[:3]
    assert (first.epoch, first.position, first.at_end) == (epoch, positions[2], False)
    second = changes.read(store, first.epoch, first.position, changes.KINDS, 3)
    assert [change.payload for change in second.changes] == [{"rack": {"a": {"watts": watts}}} for watts in (3, 4)]
    assert (second.position, second.at_end) == (positions[4], True)
    assert changes.read(store, epoch, second.position, changes.KINDS, 3) == changes.HostStateChanges(
        [], epoch, second.position, at_end=True
    )


def test_other_kinds_and_leases_are_passed_over(store):
    start = store.state.position
    join(store, {"a/1": node()})
    DocumentLease(store, LEASE_KEY, "worker", 10.0).acquire(lambda: {"epoch": 1, "position": start})
    last = put(store, 1)
    page = changes.read(store, store.state.epoch, start, ["state"], 100)
    assert [(change.kind, change.payload) for change in page.changes] == [("state", {"rack": {"a": {"watts": 1}}})]
    assert page.position == last
    page = changes.read(store, store.state.epoch, start, ["alive"], 100)
    assert [change.kind for change in page.changes] == ["alive"]
    assert page.position == last, "the next page does not read again what was passed over"


@pytest.mark.parametrize("position", ["before the log", "after its end"])
def test_a_gap_is_a_resync_at_the_present_position(store, position):
    start = store.state.position
    for watts in range(60):
        put(store, watts)
    present = store.state.position
    page = changes.read(store, 1, start if position == "before the log" else present + 100, changes.KINDS, 100)
    (change,) = page.changes
    assert (change.kind, change.payload) == ("resync", {"why": changes.GAP})
    assert (change.epoch, change.position) == (page.epoch, page.position) == (store.state.epoch, present)
    assert changes.read(store, page.epoch, page.position, changes.KINDS, 100).changes == []


def test_changes_after_a_new_epoch_are_of_it(store):
    epoch = store.state.epoch
    put(store, 1)
    start = store.state.position
    put(store, 2)
    new_epoch, _position = store.begin_epoch_if_behind(epoch, store.state.position + 5)
    put(store, 3)
    page = changes.read(store, epoch, start, changes.KINDS, 100)
    assert [(change.kind, change.epoch) for change in page.changes] == [
        ("state", epoch),
        ("resync", new_epoch),
        ("state", new_epoch),
    ]
    assert page.epoch == new_epoch > epoch
