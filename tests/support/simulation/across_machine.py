# SPDX-License-Identifier: Apache-2.0
"""Moves of all kinds within two partitions and across them; each partition forgets by itself or with other stores."""

from hypothesis import strategies as st

from rpcapi.resources.statuses import InstanceStatus
from tests.support.simulation.machines import initialize, rule
from tests.support.simulation.moves_cluster import MINUTE_MS, RECORDS, SLOTS, SPEC, Progress
from tests.support.simulation.moves_machine import MovesMachine, all_requests, hosts, sought_steps

WEST_HOSTS = [["h3"], ["h2", "h3"]]
# Stores that forget at one moment: those of the hosts' partitions, and perhaps that of the conductors.
LOSSES = [
    *([RECORDS] for _ in range(3)),  # more likely than each of the others
    *([*hosts, *records] for hosts in (["h1"], ["h3"], ["h1", "h3"]) for records in ([], [RECORDS])),
]


class AcrossMachine(MovesMachine):
    """The machine of moves with a second partition. Cold moves may leave their partition."""

    @initialize(west_hosts=st.sampled_from(WEST_HOSTS))
    def begin(self, west_hosts: list[str]) -> None:
        make = type(self).make_partition
        self.open_cluster(make(), west=make(), west_hosts=west_hosts)

    @rule(
        lambda machine: machine.interrupts,
        stores=st.sampled_from(LOSSES),
        crosses=st.sampled_from([True, True, False]),
        rounds=st.lists(all_requests, min_size=2, max_size=4),
        steps=st.integers(0, 10),
        crashes=st.booleans(),
        until=sought_steps,
    )
    def fork(
        self, stores: list[str], rounds: list[list[int]], steps: int, until: str, *, crosses: bool, crashes: bool
    ) -> None:
        """Let stores forget rounds of requests at one moment, and make the last round after that.

        ``crosses``: The instances move to the other partition first.
        """
        self.cluster.repair()
        if crosses:
            for slot in range(SLOTS):
                self.cluster.move("migrate", slot, None, SPEC)
            self.cluster.settle(MINUTE_MS)
        self.cluster.mark()
        self.cluster.mark_records()
        self.fork_after(rounds, lambda: self.cluster.forget_together(stores), Progress(steps, crashes, until))

    def request_all(self, requests: list[int]) -> None:
        """Request one thing of each instance. In half of the cases it is the end of a move that awaits a confirm."""
        for slot, number in enumerate(requests):
            if number % 2 and self.cluster.record(self.cluster.slots[slot]).status == InstanceStatus.VERIFY_RESIZE:
                self.cluster.end_move("confirm" if number % 4 == 1 else "revert", slot)
            else:
                self.cluster.request_any(number, slot)

    # As likely as eight of the other rules.
    fork_2 = fork_3 = fork_4 = fork_5 = fork_6 = fork_7 = fork_8 = fork

    @rule(host=hosts, is_lost=st.booleans())
    def mark_or_forget(self, is_lost: bool, host: str) -> None:
        if is_lost:
            self.cluster.forget(host)
        else:
            self.cluster.mark(host)
