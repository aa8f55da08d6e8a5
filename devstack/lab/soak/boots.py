# SPDX-License-Identifier: Apache-2.0
"""Boots and deletes through a store, with the worker's own cleanup behind them."""

import itertools
from collections import deque
from collections.abc import Callable

from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import Candidate, ClaimBatch, ClaimRef, Intent
from scheduler_svc.replication.reaper import Reaper, ReapLimits
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import HostReport

HOSTS = 20
BATCH = 100  # boots that are claimed, confirmed and released together
AMOUNTS = {"VCPU": 1, "MEMORY_MB": 64}
DECISION = {"driver": "filter", "seed": 1, "reasons": {"capacity": 3}}
INTERVAL = 5.0  # seconds; any pause below it means that more is due
TTL_MS = 600_000


class Boots:
    """Boots and deletes instances, and removes the tombstones of all but the last ``retained`` boots.

    A tombstone's lifetime is the time that the last ``retained`` boots took, whatever the speed of the machine.
    """

    def __init__(self, store: Store, retained: int, clock: Callable[[], int]) -> None:
        """``clock`` returns the partition's time in milliseconds."""
        self._store = store
        self._clock = clock
        self._begun_ms: deque[int] = deque(maxlen=max(1, retained // BATCH))  # of the last batches
        self._numbers = itertools.count()
        self._reaper = Reaper(store, lambda: ReapLimits(None, self._lifetime_ms))
        nodes = {"inventories": {name: Inventory(amount * BATCH).as_dict() for name, amount in AMOUNTS.items()}}
        for number in range(HOSTS):
            report = HostReport(0, 1, {f"h{number}": nodes}, register=True, agent="soak")
            outcome = store.update_stats(f"h{number}", report)
            store.audit(f"h{number}", outcome.epoch, [], 0)
        snapshot = store.snapshot()
        self._epoch, self._position = snapshot.epoch, snapshot.position

    def run_batch(self) -> None:
        """Boot and delete BATCH instances, and clean up until nothing more is due."""
        number = next(self._numbers)
        host = f"h{number % HOSTS}"
        refs = [ClaimRef(f"{number:08x}-0000-4000-8000-{index:012x}", 1) for index in range(BATCH)]
        self._begun_ms.append(self._clock())
        answer = self._store.prepare(
            ClaimBatch(
                request_id=f"req-{number:08x}-0000-4000-8000-000000000000",
                project="p",
                user="u",
                resources=AMOUNTS,
                intents=[Intent(ref.consumer, 1, [Candidate(host)]) for ref in refs],
                epoch=self._epoch,
                position=self._position,
                ttl_ms=TTL_MS,
                record=DECISION,
            )
        )
        if not answer.accepted:
            raise RuntimeError(f"a batch of the soak was refused: {answer.prepared[0]}")
        self._store.confirm(host, refs)
        self._store.release(host, refs)
        self._reaper.reap()
        while self._reaper.pause(INTERVAL) < INTERVAL:
            self._reaper.reap()

    @property
    def _lifetime_ms(self) -> int:
        return self._clock() - self._begun_ms[0]
