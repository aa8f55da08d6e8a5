# SPDX-License-Identifier: Apache-2.0
"""The listener of one RPC server, with a recording outbox."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
from oslo_messaging import Target

from rpcapi.messaging.drivers import wire
from rpcapi.messaging.drivers.errors import ClaimedElsewhere, MessageExpired
from rpcapi.messaging.drivers.listen_target import ListenTarget
from rpcapi.messaging.drivers.listener import BusListener, Delivery, RecentIds

TARGET = ListenTarget.of(Target(topic="compute", server="h1"), "gantt")
PREFETCH = 4


class Outbox:
    def __init__(self) -> None:
        self.channel = self
        self.acknowledged: list[str] = []
        self.requeued: list[str] = []
        self.foreign: set[str] = set()  # tags that another server received meanwhile
        self.down = False

    def acknowledge(self, tag: str) -> bool:
        if self.down:
            raise ConnectionError
        self.acknowledged.append(tag)
        return tag not in self.foreign

    def requeue(self, tag: str) -> None:
        if self.down:
            raise ConnectionError
        self.requeued.append(tag)


@pytest.fixture
def bench() -> Any:
    bench = SimpleNamespace(outbox=Outbox(), changes=0, stopped=[], incoming=[])

    def changed() -> None:
        bench.changes += 1

    bench.listener = BusListener(
        TARGET, bench.outbox, prefetch=PREFETCH, on_change=changed, on_stop=bench.stopped.append
    )
    bench.listener.start(bench.incoming.extend)
    return bench


def delivery(tag: str | None, *, request_id: str | None = None, seconds: float = 60.0) -> Delivery:
    request = wire.WireRequest({}, {"method": "m"}, time.time() + seconds, id=request_id or f"id-{tag}")
    return Delivery(request, "conductor", tag)


def test_target_has_the_queues_of_topic_and_server() -> None:
    assert TARGET.topic_queues == (), "every call to an agent names its host"
    assert TARGET.server_queues == (
        "gantt_bus:server:conductor:gantt:compute:h1",
        "gantt_bus:server:admin:gantt:compute:h1",
    )
    conductor = ListenTarget.of(Target(topic="conductor", server="s"), "gantt")
    assert {queue.split(":")[2] for queue in conductor.topic_queues} == {
        *("scheduler", "compute", "operator", "reader", "client", "admin")
    }
    assert TARGET.process_key == "gantt_bus:process:gantt:compute:h1"
    assert (TARGET.fanout, TARGET.label) == ("gantt_bus:fanout:gantt:compute", "compute.h1")


def test_reading_pauses_at_the_prefetch_and_resumes_at_half_of_it(bench: Any) -> None:
    assert (bench.listener.open, bench.changes) == (True, 1)
    for number in range(PREFETCH):
        assert bench.listener.open
        bench.listener.offer(delivery(f"t{number}"))
    assert not bench.listener.open
    bench.incoming[0].acknowledge()
    assert (bench.listener.open, bench.changes) == (False, 1)
    bench.incoming[1].acknowledge()
    assert (bench.listener.open, bench.changes) == (True, 2)
    assert sorted(bench.listener.unacknowledged_tags()) == ["t2", "t3"]


def test_fanout_request_needs_no_acknowledgement(bench: Any) -> None:
    for number in range(2 * PREFETCH):
        bench.listener.offer(delivery(None, request_id=f"f{number}"))
    for incoming in bench.incoming:
        incoming.acknowledge()
    assert (bench.listener.open, bench.outbox.acknowledged) == (True, [])


def test_request_that_another_server_received_does_not_run(bench: Any) -> None:
    bench.outbox.foreign = {"t"}
    bench.listener.offer(delivery("t"))
    with pytest.raises(ClaimedElsewhere, match=r"id-t was given to another server of compute\.h1"):
        bench.incoming[0].acknowledge()
    assert bench.listener.unacknowledged_tags() == []


def test_request_that_was_sent_twice_runs_once(bench: Any) -> None:
    for tag in ("t1", "t2"):
        bench.listener.offer(delivery(tag, request_id="same"))
    bench.incoming[0].acknowledge()
    with pytest.raises(ClaimedElsewhere, match="same was sent twice"):
        bench.incoming[1].acknowledge()
    assert bench.outbox.acknowledged == ["t1", "t2"]


def test_request_that_expired_while_it_waited_does_not_run(bench: Any) -> None:
    bench.listener.offer(delivery("t", seconds=-1.0))
    with pytest.raises(MessageExpired, match="id-t expired"):
        bench.incoming[0].acknowledge()
    assert bench.outbox.acknowledged == ["t"]


def test_unreachable_bus_frees_the_slot_and_the_message_is_redelivered_later(bench: Any) -> None:
    bench.listener.offer(delivery("t"))
    bench.outbox.down = True
    with pytest.raises(ConnectionError):
        bench.incoming[0].acknowledge()
    assert bench.listener.unacknowledged_tags() == []


def test_stopping_server_takes_no_request(bench: Any) -> None:
    bench.listener.stop()
    assert bench.stopped == [bench.listener]
    bench.listener.offer(delivery("t"))
    bench.listener.offer(delivery(None, request_id="f"))
    assert (bench.incoming, bench.outbox.requeued, bench.listener.open) == ([], ["t"], False)


def test_server_whose_executor_was_shut_down_requeues(bench: Any) -> None:
    def refuse(incoming: list[Any]) -> None:
        raise RuntimeError("cannot schedule new futures after shutdown")

    bench.listener.start(refuse)
    bench.listener.offer(delivery("t"))
    assert (bench.outbox.requeued, bench.listener.unacknowledged_tags()) == (["t"], [])


@pytest.mark.parametrize(("down", "requeued"), [(False, ["t1", "t2"]), (True, [])])
def test_requests_that_never_began_are_requeued_at_the_end(bench: Any, down: bool, requeued: list[str]) -> None:
    for tag in ("t1", "t2", "t3"):
        bench.listener.offer(delivery(tag))
    bench.incoming[2].acknowledge()
    bench.outbox.down = down
    bench.listener.cleanup()
    assert sorted(bench.outbox.requeued) == requeued
    assert bench.listener.unacknowledged_tags() == []


def test_key_is_new_until_it_is_remembered() -> None:
    recent_ids = RecentIds(max_keys=2)
    assert [recent_ids.add_if_new(key) for key in ("a", "a", "b", "c", "a")] == [True, False, True, True, True]
