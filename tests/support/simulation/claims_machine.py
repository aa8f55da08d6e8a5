# SPDX-License-Identifier: Apache-2.0
"""The store's invariants under random interleavings of all verbs, on the memory store and beside other stores."""

from collections.abc import Callable
from typing import ClassVar

from hypothesis import strategies as st

from scheduler_svc.core.records import UNLIMITED, ClaimLimits
from tests.support.clouds.replica import LogFollower
from tests.support.simulation.cluster import CONSUMERS, GROUPS, HOSTS, ProtocolCluster
from tests.support.simulation.machines import RecordedMachine, initialize, rule
from tests.support.store.store_partition import StorePartition

hosts = st.sampled_from(HOSTS)
consumers = st.sampled_from(CONSUMERS)
numbers = st.integers(0, 10**6)


class ClaimsMachine(RecordedMachine):
    """Members that follow the protocol, with late and repeated messages, expired claims and lost log tails."""

    make_partitions: ClassVar[Callable[[], list[StorePartition]]]

    @initialize()
    def begin(self) -> None:
        self.cluster = ProtocolCluster(type(self).make_partitions())
        self.replicas = [LogFollower(partition) for partition in self.cluster.partitions]
        self.excess_amounts = self.cluster.excess_amounts()

    @rule(
        hosts_by_consumer=st.dictionaries(consumers, st.lists(hosts, min_size=1, max_size=3), min_size=1, max_size=2),
        vcpus=st.integers(1, 3),
        group=st.integers(0, len(GROUPS) - 1),
        near=st.sampled_from([1, 2]),
        late=st.booleans(),
        spread=st.booleans(),
        limits=st.sampled_from([UNLIMITED, ClaimLimits(builds=1), ClaimLimits(3, 2)]),
    )
    def prepare(
        self,
        hosts_by_consumer: dict[str, list[str]],
        vcpus: int,
        group: int,
        *,
        near: int,
        late: bool,
        spread: bool,
        limits: ClaimLimits,
    ) -> None:
        self.cluster.prepare(
            hosts_by_consumer, vcpus, GROUPS[group], near=near, is_late=late, spread=spread, limits=limits
        )

    @rule()
    def take_positions(self) -> None:
        self.cluster.take_positions()

    @rule(host=hosts)
    def remove(self, host: str) -> None:
        self.cluster.remove(host)
        self.excess_amounts = self.cluster.excess_amounts()

    @rule(consumer=consumers, host=hosts)
    def boot(self, consumer: str, host: str) -> None:
        self.cluster.boot(consumer, host)

    @rule(consumer=consumers, host=hosts, first=st.sampled_from([None, *HOSTS]))
    def boot_in_a_lost_tail(self, consumer: str, host: str, first: str | None) -> None:
        self.cluster.mark()
        self.cluster.boot(consumer, host)
        self.forget()
        if first is not None:
            self.cluster.audit(first)
            self.excess_amounts = self.cluster.excess_amounts()

    @rule(lambda self: self.cluster.truth.sent, number=numbers, fate=st.sampled_from(["", "abort", "deadline"]))
    def confirm_in_a_lost_tail(self, number: int, fate: str) -> None:
        sent = sorted(self.cluster.truth.sent)
        consumer = sent[number % len(sent)][1].consumer
        self.cluster.mark()
        self.confirm(number)
        self.forget()
        if fate == "abort":
            self.cluster.abort(consumer, 0)
        if fate == "deadline":
            self.cluster.pass_deadline_of(consumer)
            self.reap()

    @rule(consumer=consumers, ahead=st.sampled_from([0, 0, 0, 1]))
    def abort(self, consumer: str, ahead: int) -> None:
        self.cluster.abort(consumer, ahead)

    @rule(lambda self: self.cluster.truth.sent, number=numbers)
    def confirm(self, number: int) -> None:
        sent = sorted(self.cluster.truth.sent)
        self.cluster.confirm(*sent[number % len(sent)])

    @rule(lambda self: self.cluster.truth.running, number=numbers)
    def delete(self, number: int) -> None:
        guests = sorted(self.cluster.truth.running)
        self.cluster.delete(guests[number % len(guests)])

    @rule(lambda self: self.cluster.truth.running, number=numbers, is_noticed=st.booleans())
    def move(self, number: int, is_noticed: bool) -> None:
        guests = sorted(self.cluster.truth.running)
        guest = guests[number % len(guests)]
        if guest.consumer in self.cluster.sources:
            self.cluster.move_back(guest.consumer)
        else:
            self.cluster.move(guest, is_noticed=is_noticed)

    @rule(lambda self: self.cluster.truth.running, number=numbers)
    def lose_guest(self, number: int) -> None:
        guests = sorted(self.cluster.truth.running)
        self.cluster.lose_guest(guests[number % len(guests)])

    @rule(host=hosts, arrived=st.booleans())
    def audit(self, host: str, arrived: bool) -> None:
        self.cluster.audit(host, arrived=arrived)
        self.excess_amounts = self.cluster.excess_amounts()

    @rule(host=hosts)
    def fence(self, host: str) -> None:
        self.cluster.fence(host)

    @rule(host=hosts, vcpus=st.integers(2, 6), instances=st.integers(0, 4), io_ops=st.integers(0, 2))
    def report(self, host: str, vcpus: int, instances: int, io_ops: int) -> None:
        self.cluster.report(host, vcpus, instances=instances, io_ops=io_ops)
        self.excess_amounts = self.cluster.excess_amounts()

    @rule(lambda self: self.cluster.delayed, number=numbers)
    def deliver_again(self, number: int) -> None:
        index = number % len(self.cluster.delayed)
        self.cluster.deliver_again(index)
        if self.cluster.delayed[index][0] == "audit":
            self.excess_amounts = self.cluster.excess_amounts()

    @rule(lambda self: self.cluster.delayed)
    def deliver_the_last_twice(self) -> None:
        self.cluster.deliver_again(-1)
        before = self.cluster.read_all()
        self.cluster.deliver_again(-1)
        assert self.cluster.read_all() == before
        self.excess_amounts = self.cluster.excess_amounts()

    @rule(consumer=consumers)
    def pass_deadline(self, consumer: str) -> None:
        self.cluster.pass_deadline_of(consumer)

    @rule()
    def reap(self) -> None:
        self.cluster.call_all("reap", dead_after_ms=3_600_000, tombstone_ms=3_600_000)

    @rule()
    def mark(self) -> None:
        self.cluster.mark()

    @rule(lambda self: self.cluster.marks)
    def forget(self) -> None:
        self.cluster.forget()
        self.excess_amounts = self.cluster.excess_amounts()

    def check(self) -> None:
        self._check_excess()
        self.cluster.check()
        for replica in self.replicas:
            replica.follow()
            replica.check()

    def _check_excess(self) -> None:
        """Assert that no excess was made or made worse."""
        over = self.cluster.excess_amounts()
        assert all(amount <= self.excess_amounts.get(key, 0) for key, amount in over.items()), (
            self.excess_amounts,
            over,
        )
        self.excess_amounts = over

    def teardown(self) -> None:
        super().teardown()
        for partition in self.cluster.partitions if hasattr(self, "cluster") else ():
            partition.store.close()
