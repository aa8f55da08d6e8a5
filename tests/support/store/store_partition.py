# SPDX-License-Identifier: Apache-2.0
"""A store under test, with its clock, its faults, and helpers to fill it."""

import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import (
    CLAIM_COUNTS,
    Amounts,
    Candidate,
    ClaimBatch,
    ClaimGroup,
    ClaimRef,
    Intent,
    IntentResult,
)
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import MAX_STEP_MS, HostReport, RunningClaim, StatsOutcome, Verification

SMALL = {"VCPU": 1, "MEMORY_MB": 64}
ROOMY = {"VCPU": 4, "MEMORY_MB": 1024}
SHORT_MS = 40  # a lifetime that a test can wait for
LONG_MS = 600_000


def amounts(sums: Amounts) -> dict[str, int]:
    """Return sums without zeros and counts of claims."""
    return {name: amount for name, amount in sums.items() if amount and name not in CLAIM_COUNTS}


class ManualClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


@dataclass
class StorePartition:
    """A partition under test: its store, its time and its faults.

    ``time`` returns the partition's time, as the next verb will judge by it; ``wait_until`` waits until it has reached
    a time; ``step_clock`` steps the server's clock by milliseconds; ``new_epoch`` makes the store begin an epoch, as
    after a possible loss, and returns the epoch. ``mark`` returns a copy of the store's data, and ``forget_since``
    restores it, as a failover to an old replica does. After both all hosts are named; they are not yet after
    ``new_collecting_epoch`` and ``forget_and_collect``. ``pass_deadline_of`` lets the deadline of a consumer's prepared
    claim pass without waiting.
    """

    store: Store
    time: Callable[[], int]
    wait_until: Callable[[int], None]
    new_epoch: Callable[[], int]
    mark: Callable[[], Any]
    forget_since: Callable[[Any], int]
    pass_deadline_of: Callable[[str], None]
    step_clock: Callable[[int], None]

    def __post_init__(self) -> None:
        self._sequences = itertools.count(1)
        self.incarnations: dict[str, int] = {}
        self.new_collecting_epoch = self.new_epoch
        self.forget_and_collect = self.forget_since
        self.new_epoch = lambda: self._name_hosts(self.new_collecting_epoch())
        self.forget_since = self._forget_since

    def _forget_since(self, mark: Any) -> int:
        opened, before = self.store.snapshot().opened, self.store.snapshot().epoch
        epoch = self.forget_and_collect(mark)
        return self._name_hosts(epoch, [host for host, value in opened.items() if value == before])

    def _name_hosts(self, epoch: int, hosts: Sequence[str] = ()) -> int:
        """Name the hosts that were open to a scheduler, and complete the names."""
        self.store.name_hosts(epoch, hosts, complete=True)
        return epoch

    def report(self, host: str, nodes: Mapping[str, Mapping[str, Any]], **options: Any) -> StatsOutcome:
        """Send a full report of a host's nodes, the next one in order; registers the host where that is needed.

        ``options`` replace fields of the report, which is sent as it is where they name its incarnation.
        """
        values: dict[str, Any] = {"sequence": next(self._sequences), "base": 0, "full": True, "agent": "a"} | options
        if "incarnation" in values:
            return self.store.update_stats(host, HostReport(**values, nodes=nodes))
        values["incarnation"] = self.incarnations.get(host, 0)
        values["register"] = host not in self.incarnations
        outcome = self.store.update_stats(host, HostReport(**values, nodes=nodes))
        if outcome.superseded:
            outcome = self.store.update_stats(host, HostReport(**{**values, "register": True}, nodes=nodes))
        self.incarnations[host] = outcome.incarnation
        return outcome

    def add_host(self, host: str, *nodes: str, amounts: Mapping[str, int] = ROOMY, opened: bool = True) -> None:
        """Report a host with these nodes (default: one node with the host's name), and audit it."""
        outcome = self.report(host, {node: node_stats(amounts) for node in nodes or (host,)})
        if opened:
            self.store.audit(host, outcome.epoch, [], 0)

    def batch(
        self,
        *intents: Intent,
        resources: Mapping[str, int] = SMALL,
        ttl_ms: int = LONG_MS,
        group: ClaimGroup | None = None,
        **options: Any,
    ) -> ClaimBatch:
        """Return a batch decided on the current state."""
        now = self.store.snapshot()
        values: dict[str, Any] = {"epoch": now.epoch, "position": now.position, "request_id": "req-1", "fresh": True}
        values |= {"project": "p", "user": "u"}
        return ClaimBatch(
            resources=resources,
            intents=intents,
            ttl_ms=ttl_ms,
            group=group,
            **{**values, **options},
        )

    def prepare(self, consumer: str, *hosts: str, attempt: int = 1, **options: Any) -> IntentResult:
        """Prepare a claim of one consumer on the first of ``hosts`` that fits."""
        named = {name: options.pop(name, None) for name in ("replaces", "move")}
        answer = self.store.prepare(self.batch(intent(consumer, *hosts, attempt=attempt, **named), **options))
        return answer.prepared[0]

    def hold(self, consumer: str, host: str, **options: Any) -> ClaimRef:
        """Prepare and confirm a claim."""
        prepared = self.prepare(consumer, host, **options)
        ref = ClaimRef(consumer, prepared.attempt)
        self.store.confirm(host.partition("/")[0], [ref])
        return ref

    def fence(self, host: str) -> int:
        """Fence a host, up or not, and return the number of ended claims."""
        return self.store.fence(host, f"token-{next(self._sequences)}", force=True)

    def pass_deadline(self, prepared: IntentResult) -> None:
        """Wait until the claim's deadline has passed."""
        assert prepared.deadline_ms is not None
        self.wait_until(prepared.deadline_ms)

    def used(self, provider: str) -> dict[str, int]:
        """Return the sums at a provider, without zeros and counts of claims."""
        return amounts(self.store.snapshot().used.get(provider, {}))

    def states(self) -> dict[str, str]:
        """Return the state of every live claim."""
        return {claim.consumer: claim.state for claim in self.store.claims()[0]}

    def check(self) -> Verification:
        """Return the verification, and assert that it has no problems."""
        verification = self.store.verify()
        assert list(verification.problems) == []
        return verification


def server_partition(store: Store, faults: Any) -> StorePartition:
    """Return the partition of a store on a real server, with the clock and faults of ``faults``."""

    def forget_since(mark: Any) -> int:
        faults.restore(mark)
        return store.check_identity()[0]

    def new_epoch() -> int:
        faults.change_server_identity()
        return store.check_identity()[0]

    return StorePartition(
        store,
        faults.now,
        lambda moment: poll(lambda: faults.now() >= moment),
        new_epoch,
        faults.mark,
        forget_since,
        faults.pass_deadline_of,
        faults.step_clock,
    )


def own_time(time: int | None, clock: int | None, now_clock: int, max_step_ms: int = MAX_STEP_MS) -> int:
    """Return a partition's time after a verb at ``now_clock``, from its recorded time and clock."""
    if time is None or clock is None:
        return now_clock
    return time + max(0, min(now_clock - clock, max_step_ms))


def node_stats(
    amounts: Mapping[str, int], *, traits: Sequence[str] = (), zone: str | None = None, **figures: Any
) -> dict[str, Any]:
    """Return a report's entry for a node with these totals."""
    return {
        "inventories": {name: Inventory(total, **figures).as_dict() for name, total in amounts.items()},
        "traits": list(traits),
        "availability_zone": zone,
        "metrics": {},
    }


def child_stats(
    parent: str, amounts: Mapping[str, int], *, traits: Sequence[str] = (), **figures: Any
) -> dict[str, Any]:
    """Return a report's entry for a provider below ``parent``."""
    stats = node_stats(amounts, traits=traits, **figures)
    return {"inventories": stats["inventories"], "traits": stats["traits"], "parent": parent}


def intent(
    consumer: str, *hosts: str, attempt: int = 1, replaces: int | None = None, move: tuple[str, int] | None = None
) -> Intent:
    """Return an intent for ``hosts`` in that order."""
    migration, source_attempt = move or (None, None)
    return Intent(
        *(consumer, attempt, [Candidate(host) for host in hosts], replaces),
        migration=migration,
        source_attempt=source_attempt,
    )


def running(ref: ClaimRef, host: str, *, confirmed: bool = True, amounts: Mapping[str, int] = SMALL) -> RunningClaim:
    """Return an audit's entry for one claim on ``host``."""
    return RunningClaim(ref.consumer, ref.attempt, confirmed, host, {host: amounts}, "INSTANCE", "p", "u", "req-1")


def poll(ready: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until ``ready`` returns true; fail after ``seconds``."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not ready():
        assert time.monotonic() < deadline, "timed out waiting for a condition"
        pause.wait(0.002)
