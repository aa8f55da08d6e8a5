# SPDX-License-Identifier: Apache-2.0
"""Segment of a campaign: a fresh cluster under load, some faults, and the check of the result."""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import redis

from devstack import exercise
from devstack.deploy.users.errors import DevstackError
from devstack.lab.chaos import history, stored_state
from devstack.lab.chaos.checker import CheckReport, check
from devstack.lab.chaos.deployment import DOWN_SECONDS, NODES, ChaosCluster
from devstack.lab.chaos.draw import FaultBurst, draw
from devstack.lab.chaos.faults.fault import Fault
from devstack.lab.chaos.final_state import FinalState, StoredPartition
from devstack.lab.chaos.history import CallOutcome, HistoryWriter
from devstack.lab.chaos.load import ChaosLoad, HistoryCaller, make_uuid
from devstack.lab.chaos.observers import ClaimObserver, GuestObserver
from devstack.lab.chaos.progress import Progress
from devstack.lab.chaos.violations import ViolationKind

READY_SECONDS = 120.0
RECOVERY_SECONDS = 120.0
SETTLE_SECONDS = 150.0
POLL = 0.1
SETTLE_POLL = 2.0
LEASE_SECONDS = 60.0  # Longest age of a prepared claim: its deadline plus the delay of an outage or audit.
PERMANENT = frozenset({ViolationKind.DOUBLE_END, ViolationKind.ILLEGAL, ViolationKind.STOPPED})  # these never vanish

Say = Callable[[str], None]
Damage = Callable[[ChaosCluster, CheckReport], None]


class Segment:
    """Segment with its figures; ``folder`` keeps logs, data and history as evidence."""

    def __init__(
        self, folder: Path, seed: str, kinds: Sequence[str], counts: Progress, say: Say, *, partitions: int = 1
    ) -> None:
        self._folder = folder
        self._seed = seed
        self._kinds = kinds
        self._counts = counts
        self._say = say
        self._chance = random.Random(seed)
        self.cluster = ChaosCluster(folder / "run", self._chance.choice((0, 1)), partitions)
        self._history_file = self.cluster.history_file
        self.figures = Progress(counts.seed)

    def run(self, faults: int, load_target: int, damage: Damage | None = None, most_at_once: int = 1) -> CheckReport:
        """Inject faults and check the cluster, again after a test's ``damage``. Raises ServerError, TimeoutError."""
        began = time.monotonic()
        with ExitStack() as stack:
            stack.callback(self.cluster.stop)
            self.cluster.start()
            writer = HistoryWriter(self._history_file)
            stack.callback(writer.close)
            caller = HistoryCaller(self.cluster.client_conf, writer)
            stack.callback(caller.close)
            exercise.wait_for_nodes(caller.session, NODES, READY_SECONDS, lambda nodes: None)
            guests = GuestObserver([self.cluster.state_folder(agent) for agent in self.cluster.agents], writer)
            guests.start()
            claims = [
                ClaimObserver(server, partition, writer)
                for partition, store in self.cluster.stores.items()
                for server in store.servers
            ]
            for observer in claims:
                observer.start()
                stack.callback(observer.stop)
            load = ChaosLoad(self.cluster.client_conf, writer, self._seed, target=load_target)
            load.start()
            self._inject_faults(faults, most_at_once, load, caller, writer)
            load.stop()
            self._settle()
            guests.stop()
            report = self._check()
            if damage is not None:
                damage(self.cluster, report)
                report = self._check()
        self._count(report, time.monotonic() - began)
        return report

    def _inject_faults(
        self, faults: int, most_at_once: int, load: ChaosLoad, caller: HistoryCaller, writer: HistoryWriter
    ) -> None:
        remaining = faults
        while remaining > 0:
            counts = self._counts.faults + self.figures.faults
            burst = draw(self.cluster, self._chance, self._kinds, counts, min(most_at_once, remaining))
            remaining -= len(burst.faults)
            if burst.is_idle:
                load.pause()
            began = time.monotonic()
            recovery = self._run_burst(burst, caller, writer)
            load.resume()
            self._say(
                f"{faults - remaining} of {faults}{', idle' if burst.is_idle else ''}, "
                f"{time.monotonic() - began:.1f} s; "
                f"{'NOT RECOVERED' if recovery is None else f'recovered in {recovery:.1f} s'}"
            )

    def _run_burst(self, burst: FaultBurst, caller: HistoryCaller, writer: HistoryWriter) -> float | None:
        """Inject the faults, heal each after its time, and return the seconds until recovery."""
        ends: list[tuple[float, Fault, str]] = []
        for fault in burst.faults:
            time.sleep(fault.pause)
            detail = fault.inject()
            writer.fault(
                name=fault.kind.name,
                detail=detail,
                step="inject",
                idle=burst.is_idle,
                hosts=fault.lost_hosts,
                loses_claims=fault.kind.loses_claims,
                forgets_since=fault.forgets_since,
            )
            ends.append((time.monotonic() + fault.hold, fault, detail))
        for end, fault, detail in sorted(ends, key=lambda item: item[0]):
            time.sleep(max(0.0, end - time.monotonic()))
            ended_at = time.monotonic()
            occurred = fault.heal()
            writer.fault(name=fault.kind.name, step="heal", occurred=occurred)
            self._note(fault, detail, occurred, burst.is_idle)
        seconds = time.monotonic() - ended_at if self._probe(caller) else None
        if seconds is None:
            self.figures.unrecovered += 1
        else:
            self.figures.recoveries.append(seconds)
        return seconds

    def _note(self, fault: Fault, detail: str, occurred: bool, is_idle: bool) -> None:
        self._say(f"{fault.kind.name} ({detail}){'' if occurred else ', did not occur'}")
        figures, kind = self.figures, fault.kind.name
        if not occurred:
            figures.missed[kind] += 1
            return
        figures.faults[kind] += 1
        if is_idle:
            figures.idle_faults[kind] += 1

    def _probe(self, caller: HistoryCaller) -> bool:
        deadline = time.monotonic() + RECOVERY_SECONDS
        while time.monotonic() < deadline:
            server = make_uuid(self._chance)
            if not caller.boot({"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 1}, [server], lambda: False):
                continue
            status = ""
            while status not in exercise.FINAL_STATUSES and time.monotonic() < deadline:
                status = caller.statuses([server]).get(server, "")
                time.sleep(POLL)
            if status == "ACTIVE":
                return True
        return False

    def _settle(self) -> CheckReport:
        """Check until only permanent violations remain, at most SETTLE_SECONDS: orphans end after their grace."""
        self.cluster.revive()
        deadline = time.monotonic() + SETTLE_SECONDS
        time.sleep(DOWN_SECONDS / 3)
        while True:
            try:
                report = self._check()
            except (redis.RedisError, DevstackError, ValueError) as why:
                self._say(f"the state cannot be read: {why}")
            else:
                if all(item.kind in PERMANENT for item in report.violations) or time.monotonic() > deadline:
                    return report
            time.sleep(SETTLE_POLL)

    def _check(self) -> CheckReport:
        folders = [self.cluster.state_folder(agent) for agent in self.cluster.agents]
        with self.cluster.records.client() as records:
            state = FinalState(
                guests=[guest for folder in folders for guest in stored_state.read_guests(folder)],
                attempts=[attempt for folder in folders for attempt in stored_state.read_attempts(folder)],
                partitions=[self._read_partition(name) for name in self.cluster.stores],
                instances=stored_state.read_instances(records),
                migrations=stored_state.read_migrations(records),
                read_at=time.time(),
            )
        return check(history.read(self._history_file), state, LEASE_SECONDS)

    def _read_partition(self, name: str) -> StoredPartition:
        with self.cluster.store_client(name) as store:
            return stored_state.read_partition(store, name)

    def _count(self, report: CheckReport, seconds: float) -> None:
        figures, run = self.figures, history.read(self._history_file)
        acknowledged = [item for item in run.operations if item.outcome is CallOutcome.ACKNOWLEDGED]
        figures.answers.update(item.verb for item in acknowledged)
        figures.instances = sum(len(item.uuids) for item in acknowledged if item.verb == "boot")
        figures.claims = len({(item.consumer, item.attempt) for item in run.claims if item.state == "prepared"})
        figures.violations.update({kind: count for kind, count in report.counts.items() if count})
        figures.evidence = [f"{item.kind}: {item.subject}: {item.evidence}" for item in report.violations[:20]]
        figures.segments, figures.seconds = 1, seconds
