# SPDX-License-Identifier: Apache-2.0
"""Moves of all kinds under random interleavings: of requests, deletions, deaths, fences, epochs and late messages."""

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import strategies as st

from conductor.store.records import SagaStep
from tests.support.agent.rig import KillSwitch as AgentKillSwitch
from tests.support.conductor.live_cluster import HOSTS
from tests.support.conductor.simulated_cluster import KillSwitch
from tests.support.simulation.faults import Fault
from tests.support.simulation.machines import RecordedMachine, initialize, rule
from tests.support.simulation.moves_cluster import CHANGES, FAILURES, FLAVORS, MOVES, SLOTS, MovesCluster, Progress
from tests.support.simulation.moves_hosts import ISOLATION_S, LOST_ANSWER, LOST_REPORT
from tests.support.store.store_partition import StorePartition

# Agents make each record of their journals durable.
IN_MEMORY = "/dev/shm"  # noqa: S108 - each example makes a private folder there
hosts = st.sampled_from(HOSTS)
slots = st.integers(0, SLOTS - 1)
numbers = st.integers(0, 10**6)
all_requests = st.lists(numbers, min_size=SLOTS, max_size=SLOTS)  # one of each instance
kill_steps = st.integers(1, 30)


# Each fault that can strike on request; the others strike by themselves.
STRIKES: dict[Fault, Callable[[MovesCluster, str, int], object]] = {
    Fault.AGENT_CRASH: lambda cluster, host, _number: cluster.hosts.kill(host),
    Fault.AGENT_RESTART: lambda cluster, host, _number: cluster.hosts.start(host),
    Fault.SUSPENSION: lambda cluster, host, _number: cluster.suspend(host, 0, 300, is_fenced=False),
    Fault.SUSPENDED_FENCE: lambda cluster, host, _number: cluster.suspend(host, 0, 300, is_fenced=True),
    Fault.POWER_LOSS: lambda cluster, host, _number: cluster.lose_power(host),
    Fault.FENCE: lambda cluster, host, _number: cluster.power_off(host),
    Fault.NAMESAKE: lambda cluster, host, _number: cluster.meet_namesake(host),
    Fault.LOST_MESSAGE: lambda cluster, _host, number: cluster.hosts.message(number, "be lost"),
    Fault.LATE_MESSAGE: lambda cluster, _host, number: cluster.hosts.message(number, "be late"),
    Fault.REPEATED_MESSAGE: lambda cluster, _host, number: cluster.hosts.message(number, "arrive again"),
    Fault.REORDERED_MESSAGE: lambda cluster, _host, _number: cluster.hosts.message(-1, "arrive"),
    Fault.LOST_REPORT: lambda cluster, host, _number: cluster.fail(host, LOST_REPORT),
    Fault.LOST_ANSWER: lambda cluster, host, _number: cluster.fail(host, LOST_ANSWER),
    Fault.FAILURE: lambda cluster, host, number: cluster.fail(host, FAILURES[number % len(FAILURES)]),
    Fault.REPEATED_REQUEST: lambda cluster, _host, number: cluster.repeat_move(number % SLOTS),
    Fault.CLAIMS_EPOCH: lambda cluster, host, _number: cluster.begin_epoch(host),
    Fault.LOST_CLAIMS: lambda cluster, host, _number: cluster.forget(host),
    Fault.LOST_RECORDS: lambda cluster, _host, _number: cluster.forget_records(),
}
faults = st.sampled_from([fault.value for fault in STRIKES])
SUSPENSIONS = {Fault.SUSPENSION.value: False, Fault.SUSPENDED_FENCE.value: True}  # True: the host is fenced meanwhile
FORGOTTEN_STEPS = 16  # of each forgotten round, at most
AGENT_STEPS = 12  # from a message to a report, at most
# Steps that are rare in themselves are sought.
RARE = (SagaStep.SETTLE, SagaStep.ALTERNATE, SagaStep.OFFLOAD, SagaStep.UNSHELVE, SagaStep.EVACUATE, SagaStep.END_MOVE)
sought_steps = st.sampled_from(["", "", *(step.value for step in RARE)])


class MovesMachine(RecordedMachine):
    """Callers, conductors and agents. Messages arrive and time passes by rules only."""

    make_partition: ClassVar[Callable[[], StorePartition]]
    interrupts: ClassVar[bool] = False  # faults strike in the middle of sagas too

    @initialize()
    def begin(self) -> None:
        self.open_cluster(type(self).make_partition())

    def open_cluster(self, partition: StorePartition, **west: Any) -> None:
        self.folder = tempfile.TemporaryDirectory(dir=IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None)
        self.cluster = MovesCluster(Path(self.folder.name), partition, **west)
        self.cluster.settle()

    # -- requests ----------------------------------------------------------------------------------------------

    @rule(
        kind=st.sampled_from(MOVES),
        slot=slots,
        to=st.sampled_from([None, None, *HOSTS]),
        flavor=st.sampled_from(sorted(FLAVORS)),
        is_repeated=st.booleans(),
    )
    def move(self, kind: str, slot: int, to: str | None, flavor: str, *, is_repeated: bool) -> None:
        self.cluster.move(kind, slot, to, FLAVORS[flavor])
        if is_repeated:
            self.cluster.repeat_move(slot)

    @rule(slot=slots, is_forward=st.booleans(), is_valid=st.sampled_from([True, True, True, False]))
    def end_move(self, slot: int, is_forward: bool, is_valid: bool) -> None:
        is_live = self.cluster.moves_live(slot) == is_valid
        verbs = ("force", "abort") if is_live else ("confirm", "revert")
        self.cluster.end_move(verbs[0 if is_forward else 1], slot)

    @rule(verb=st.sampled_from(CHANGES), slot=slots)
    def change(self, verb: str, slot: int) -> None:
        self.cluster.change(verb, slot)

    @rule(verb=st.sampled_from(["delete", "repeat"]), slot=slots)
    def delete_or_repeat(self, verb: str, slot: int) -> None:
        if verb == "delete":
            self.cluster.delete_one(slot)
        else:
            self.cluster.repeat_move(slot)

    @rule(slot=slots, is_elsewhere=st.booleans())
    def put_allocations(self, slot: int, is_elsewhere: bool) -> None:
        self.cluster.put_allocations(slot, is_elsewhere=is_elsewhere)

    # -- progress ----------------------------------------------------------------------------------------------

    @rule()
    def work(self) -> None:
        self.cluster.work()

    @rule(number=numbers, fate=st.sampled_from(["arrive", "arrive", "arrive", "be lost", "be late", "arrive again"]))
    def message(self, number: int, fate: str) -> None:
        self.cluster.hosts.message(number, fate)

    @rule(seconds=st.sampled_from([1, 10, 60, 600, 3 * 3600]))
    def pass_time(self, seconds: int) -> None:
        self.cluster.settle(seconds * 1000)

    @rule(order=st.permutations(HOSTS))
    def rest(self, order: Sequence[str] = HOSTS) -> None:
        self.cluster.rest(order)

    @rule(
        lambda machine: machine.interrupts,
        requests=all_requests,
        steps=st.integers(0, 10),
        crashes=st.booleans(),
        host=hosts,
        fault=faults,
        until=sought_steps,
        is_earlier=st.booleans(),
    )
    def interrupt(
        self,
        requests: list[int],
        steps: int,
        host: str,
        fault: str,
        *,
        crashes: bool,
        until: str = "",
        is_earlier: bool = False,
    ) -> None:
        """Let a fault strike in the middle of sagas: by the other rules this is rare.

        A store that loses returns to its state after the requests, or before them if ``is_earlier``.
        """
        self.cluster.repair()
        if is_earlier:
            self._mark_for(fault)
        self.request_all(requests)
        if not is_earlier:
            self._mark_for(fault)
        self.cluster.run_steps(Progress(steps, crashes, until))
        STRIKES[Fault(fault)](self.cluster, host, sum(requests))

    def request_all(self, requests: list[int]) -> None:
        for slot, number in enumerate(requests):
            self.cluster.request_any(number, slot)

    def _mark_for(self, fault: str) -> None:
        if fault == Fault.LOST_CLAIMS:
            self.cluster.mark()
        elif fault == Fault.LOST_RECORDS:
            self.cluster.mark_records()

    # As likely as eight of the other rules.
    interrupt_2 = interrupt_3 = interrupt_4 = interrupt_5 = interrupt_6 = interrupt_7 = interrupt_8 = interrupt

    @rule(
        lambda machine: machine.interrupts,
        store=st.sampled_from([Fault.LOST_RECORDS.value, Fault.LOST_CLAIMS.value]),
        rounds=st.lists(all_requests, min_size=2, max_size=4),
        steps=st.integers(0, 10),
        crashes=st.booleans(),
        until=sought_steps,
    )
    def fork(self, store: str, rounds: list[list[int]], steps: int, until: str, *, crashes: bool) -> None:
        """Let a store forget rounds of requests, however far each has come, and make the last round after that."""
        self.cluster.repair()
        self._mark_for(store)
        self.fork_after(
            rounds, lambda: STRIKES[Fault(store)](self.cluster, HOSTS[0], 0), Progress(steps, crashes, until)
        )

    def fork_after(self, rounds: Sequence[list[int]], forget: Callable[[], object], progress: Progress) -> None:
        *forgotten, last = rounds
        for requests in forgotten:
            self.request_all(requests)
            self.cluster.run_steps(Progress(sum(requests) % FORGOTTEN_STEPS, crashes=False, until=""))
        forget()
        self.request_all(last)
        self.cluster.run_steps(progress)

    # As likely as four of the other rules.
    fork_2 = fork_3 = fork_4 = fork

    @rule(
        lambda machine: machine.interrupts,
        steps=st.integers(0, 10),
        crashes=st.booleans(),
        host=hosts,
        fault=faults,
        until=sought_steps,
        number=numbers,
    )
    def strike(self, steps: int, host: str, fault: str, until: str, number: int, *, crashes: bool) -> None:
        """Let a fault strike in what an earlier one left: steps that wait for hosts, or that look for claims.

        An agent is suspended in its next steps.
        """
        self.cluster.run_steps(Progress(steps, crashes, until))
        if fault in SUSPENSIONS:
            self.cluster.suspend(host, 1 + number % AGENT_STEPS, 300, is_fenced=SUSPENSIONS[fault])
        else:
            STRIKES[Fault(fault)](self.cluster, host, number)

    # As likely as four of the other rules.
    strike_2 = strike_3 = strike_4 = strike

    # -- faults ------------------------------------------------------------------------------------------------

    @rule(at=kill_steps, is_after=st.booleans())
    def kill_conductor(self, at: int, is_after: bool) -> None:
        self.cluster.add_conductor(KillSwitch(at, is_after))

    @rule(host=hosts, at=st.one_of(st.just(0), kill_steps))
    def start_agent(self, host: str, at: int) -> None:
        self.cluster.hosts.start(host, AgentKillSwitch(at))

    @rule(host=hosts, fate=st.sampled_from(["kill", "power off", "power off and fence"]))
    def lose_host(self, host: str, fate: str) -> None:
        if fate == "kill":
            self.cluster.hosts.kill(host)
        elif fate == "power off":
            self.cluster.lose_power(host)
        else:
            self.cluster.power_off(host)

    @rule(host=hosts, steps=st.integers(1, 12), seconds=st.sampled_from([30, 300, 3 * 3600]), is_fenced=st.booleans())
    def suspend(self, host: str, steps: int, seconds: int, is_fenced: bool) -> None:
        # A shorter suspension is not noticed before the next report: docs/failures.md, "suspended or cut off".
        self.cluster.suspend(host, steps, seconds, is_fenced=is_fenced and seconds > ISOLATION_S)

    @rule(host=hosts)
    def meet_namesake(self, host: str) -> None:
        self.cluster.meet_namesake(host)

    @rule(host=hosts, failure=st.sampled_from([None, LOST_REPORT, LOST_ANSWER, *FAILURES]))
    def fail(self, host: str, failure: str | None) -> None:
        self.cluster.fail(host, failure)

    @rule(first=hosts, is_new=st.booleans())
    def audit(self, first: str, is_new: bool) -> None:
        if is_new:
            self.cluster.begin_epoch(first)
        self.cluster.audit(first)

    @rule()
    def compare(self) -> None:
        self.cluster.compare()

    @rule(is_lost=st.booleans())
    def mark_or_forget(self, is_lost: bool) -> None:
        if is_lost:
            self.cluster.forget()
        else:
            self.cluster.mark()

    @rule(is_lost=st.booleans())
    def mark_or_forget_records(self, is_lost: bool) -> None:
        if is_lost:
            self.cluster.forget_records()
        else:
            self.cluster.mark_records()

    def check(self) -> None:
        self.cluster.check_always()

    def teardown(self) -> None:
        if not hasattr(self, "cluster"):
            return
        try:
            if not self.is_failing:  # the first broken promise is the one to report
                self.cluster.rest()
                self.hits.update(self.cluster.hits)
            super().teardown()
        finally:
            self.cluster.close()
            self.folder.cleanup()
