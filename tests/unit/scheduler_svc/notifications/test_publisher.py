# SPDX-License-Identifier: Apache-2.0
"""Publishing of the log: in order, at least once, by one worker at a time, despite failures."""

import pytest

from rpcapi import errors
from scheduler_svc.conf.notifications import KINDS
from scheduler_svc.notifications.changes import LEASE_KEY, LEASE_NAMESPACE
from scheduler_svc.notifications.publisher import NotificationPublisher
from scheduler_svc.store.lease import DocumentLease
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler.hosts import join, node

LEASE = 12.0


class Bus:
    """Where notifications go; it refuses after ``remaining`` of them."""

    def __init__(self):
        self.sent = []
        self.remaining = None
        self.is_closed = False

    def close(self):
        self.is_closed = True

    def send(self, event_type, payload):
        if self.remaining == 0:
            raise errors.Unavailable(what="The bus", why="test")
        if self.remaining is not None:
            self.remaining -= 1
        self.sent.append((event_type, payload))

    @property
    def events(self):
        return [event_type.removeprefix("host_state.") for event_type, _payload in self.sent]

    @property
    def positions(self):
        return [payload["position"] for _event, payload in self.sent]


class PublisherBench:
    """A store, a bus, and publishers on a clock that the test advances."""

    def __init__(self, **options):
        self.now = 0.0
        self.store = MemoryStore("default", namespaces=("rack", LEASE_NAMESPACE), **options)
        self.bus = Bus()

    def worker(self, name, kinds=KINDS):
        turn = DocumentLease(self.store, LEASE_KEY, name, LEASE, lambda: self.now)
        return NotificationPublisher(self.store, turn, self.bus, kinds)

    def publish(self, worker):
        """Run one step of a publisher; return whether it had the lease."""
        document = False
        position = None
        while position != self.store.state.position:
            position = self.store.state.position
            document = worker.step(0)
        return document

    def put(self, name, document):
        try:
            version, _ = self.store.get_state("rack", name)
        except errors.UnknownHost:
            version = 0
        return self.store.put_state("rack", name, version, document)


@pytest.fixture
def bench():
    return PublisherBench()


def test_change_is_published_with_partition_epoch_and_position(bench):
    worker = bench.worker("w")
    bench.publish(worker)
    join(bench.store, {"a/1": node()})
    at = bench.put("a", {"watts": 5})
    bench.publish(worker)
    assert bench.bus.events[0] == "resync"
    assert {"provider", "service", "alive", "opened", "state"} <= set(bench.bus.events)
    event, payload = bench.bus.sent[-1]
    assert event == "host_state.state"
    assert payload == {
        "version": "1.0",
        "partition": "default",
        "epoch": bench.store.state.epoch,
        "position": at,
        "kind": "state",
        "payload": {"rack": {"a": {"watts": 5}}},
    }
    assert bench.bus.positions == sorted(bench.bus.positions)


def test_unconfigured_kinds_and_lease_documents_are_not_published(bench):
    worker = bench.worker("w", kinds=["state"])
    bench.publish(worker)
    join(bench.store, {"a/1": node()})
    bench.put("a", {"watts": 5})
    bench.publish(worker)
    assert bench.bus.events == ["resync", "state"]


def test_idle_publisher_writes_only_when_renewal_is_due(bench):
    worker = bench.worker("w")
    bench.publish(worker)
    position = bench.store.state.position
    for _ in range(5):
        worker.step(0)
    assert bench.store.state.position == position
    bench.now += LEASE / 3
    worker.step(0)
    assert bench.store.state.position == position + 1


def test_only_lease_holder_publishes_and_successor_continues_at_its_position(bench):
    first, second = bench.worker("first"), bench.worker("second")
    bench.publish(first)
    bench.put("a", {"watts": 1})
    assert bench.publish(first)
    bench.now += LEASE / 3
    assert not second.step(0)
    bench.publish(first)
    bench.now += LEASE - 1
    assert not second.step(0)
    bench.put("a", {"watts": 2})
    bench.now += LEASE
    assert bench.publish(second)
    assert bench.bus.events == ["resync", "state", "state"]
    bench.put("a", {"watts": 3})
    assert not first.step(0), "the first has lost its turn, and publishes nothing"
    assert bench.bus.events == ["resync", "state", "state"]
    bench.publish(second)
    assert [payload["payload"]["rack"]["a"]["watts"] for _e, payload in bench.bus.sent[1:]] == [1, 2, 3]


def test_stopped_publisher_releases_its_lease_and_closes_its_bus(bench):
    first, second = bench.worker("first"), bench.worker("second")
    bench.publish(first)
    assert not second.step(0)
    first.stop()
    first.start()
    first.wait()
    assert bench.bus.is_closed
    assert second.step(0)


def test_failed_notifications_are_sent_later_without_gaps(bench):
    worker = bench.worker("w", kinds=["state"])
    bench.publish(worker)
    for watts in range(6):
        bench.put("a", {"watts": watts})
    bench.bus.remaining = 2
    with pytest.raises(errors.Unavailable):
        worker.step(0)
    bench.bus.remaining = None
    bench.publish(bench.worker("w", kinds=["state"]))
    assert [payload["payload"]["rack"]["a"]["watts"] for _e, payload in bench.bus.sent[1:]] == list(range(6))


def test_unrecorded_notifications_of_a_dead_worker_are_published_again(bench):
    worker = bench.worker("w", kinds=["state"])
    bench.publish(worker)
    bench.put("a", {"watts": 1})
    bench.store.put_state, put = _refuse, bench.store.put_state
    with pytest.raises(errors.StoreUnavailable):
        worker.step(0)
    bench.store.put_state = put
    bench.now += 2 * LEASE
    heir = bench.worker("heir", kinds=["state"])
    assert not heir.step(0)
    bench.now += LEASE
    bench.publish(heir)
    assert bench.bus.events == ["resync", "state", "state"]


def _refuse(*_args):
    raise errors.StoreUnavailable(why="test")


def test_gap_and_new_epoch_are_published_as_resync(bench):
    short = PublisherBench(log_length=5)
    worker = short.worker("w", kinds=["state", "epoch"])
    short.publish(worker)
    for watts in range(20):
        short.put("a", {"watts": watts})
    short.publish(worker)
    assert short.bus.events[:2] == ["resync", "resync"]
    assert "trimmed past" in short.bus.sent[1][1]["payload"]["why"]
    at = short.put("a", {"watts": 99})
    short.publish(worker)
    assert short.bus.sent[-1][1]["position"] == at


def test_new_epoch_is_published_as_resync(bench):
    worker = bench.worker("w")
    bench.publish(worker)
    bench.store.begin_epoch()
    bench.publish(worker)
    event, payload = bench.bus.sent[-1]
    assert (event, payload["epoch"]) == ("host_state.resync", bench.store.state.epoch)
