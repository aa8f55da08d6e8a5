# SPDX-License-Identifier: Apache-2.0
"""gantt-lab sync: how soon does every worker know what a host reports, and what does knowing all hosts cost?"""

import argparse
import bisect
import statistics
from collections.abc import Iterator, Sequence
from contextlib import closing

import numpy as np

from devstack.lab import hosts, private_redis, sync_load
from devstack.lab.command import Question, host_count, positive, share, up_to
from devstack.lab.rows import Row
from devstack.lab.sync_course import Findings, measure
from devstack.lab.sync_load import MINUTE, Wish
from devstack.lab.sync_worker import Seen, open_store

DELAY_BUDGET_MS, START_BUDGET_S, MEMORY_BUDGET_KB = 100.0, 2.0, 4.0
BUDGET_FROM = 10_000  # with fewer hosts what a worker holds by itself outweighs them


minutes = up_to(24 * 60, "a number of minutes")


class Sync(Question):
    """Let hosts report each minute and look how soon every worker's replica holds what changed.

    Each worker is a process with a replica of its own; another sends the reports, straight into the store of one
    private redis-server (everysec). Also: a worker's start, what it holds in memory, and how it catches up.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--hosts", type=host_count, default=10_000, metavar="N", help="Nodes (%(default)s).")
        parser.add_argument(
            "--nodes-per-host", type=positive, default=10, metavar="N", help="Nodes that report together (%(default)s)."
        )
        parser.add_argument("--workers", type=positive, default=2, metavar="N", help="Workers (%(default)s).")
        parser.add_argument("--minutes", type=minutes, default=0.5, metavar="M", help="Of reports (%(default)s).")
        parser.add_argument(
            "--change", type=share, default=0.1, metavar="SHARE", help="Of the nodes change a minute (%(default)s)."
        )
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[Row]:
        nodes = sync_load.spread(args.nodes_per_host, hosts.make(args.hosts))
        wish = Wish(args.minutes * MINUTE, args.change)
        with (
            self.bar(round(wish.seconds), "reporting", args) as bar,
            private_redis.running("everysec") as server,
            closing(open_store(server.url())) as store,
        ):
            hosts.join(store, nodes)
            return list(_rows(measure(server.url(), nodes, args.workers, wish, bar)))


def delays_ms(sent: Sequence[tuple[int, float]], seen: Sequence[Seen]) -> np.ndarray:
    """Return for each report the milliseconds from when it was sent until the last worker held what it changed."""
    found = []
    for position, at in sent:
        moments = [worker.moments[bisect.bisect_left(worker.moments, (position, 0.0))][1] for worker in seen]
        found.append(max(moments) - at)
    return np.array(found) * 1e3


def _rows(found: Findings) -> Iterator[Row]:
    promised = found.nodes >= BUDGET_FROM
    delays, bare = delays_ms(found.reported.sent, found.seen), np.array(found.bare_delays) * 1e3
    p99 = float(np.percentile(delays, 99))
    yield Row(
        "update to visible in every worker, p99 ms",
        p99,
        DELAY_BUDGET_MS,
        figures={
            "p50_ms": float(np.percentile(delays, 50)),
            "p99_ms": p99,
            "bare_p50_ms": float(np.percentile(bare, 50)),
            "bare_p99_ms": float(np.percentile(bare, 99)),
            "reports": found.reported.reports,
            "changed": len(found.reported.sent),
            "late_ms": found.reported.late_s * 1e3,
        },
    )
    start = statistics.median(each.process_s for each in found.starts)
    yield Row(
        "a worker's start, s",
        start,
        START_BUDGET_S if promised else None,
        figures={
            "process_s": start,
            "processor_s": statistics.median(each.processor_s for each in found.starts),
            "load_s": statistics.median(each.load_s for each in found.starts),
            "bare_load_s": statistics.median(each.bare_s for each in found.starts),
            "hosts": found.nodes,
        },
    )
    yield _memory(found, promised)
    caught = found.caught_up
    yield Row(
        "catching up, beside reading alone",
        caught.seconds / caught.bare_s,
        figures={
            "entries": caught.entries,
            "entries_per_s": caught.entries / caught.seconds,
            "bare_entries_per_s": caught.entries / caught.bare_s,
        },
    )
    unlike = sum(worker.digest != found.reference for worker in found.after)
    yield Row("replicas unlike a snapshot", unlike, 0, figures={"replicas": len(found.after)})


def _memory(found: Findings, promised: bool) -> Row:
    """Return what a worker holds a host when it has followed for a while, above what it held before the load."""
    empty = statistics.median(each.empty_kb for each in found.starts)
    loaded = statistics.median(each.loaded_kb for each in found.starts)
    followed = max(each.resident_kb for each in found.after)
    figures = {
        "empty_mb": empty / 1024,
        "loaded_kb_a_host": (loaded - empty) / found.nodes,
        "followed_kb_a_host": (followed - empty) / found.nodes,
    }
    return Row(
        "memory of a worker, kB a host",
        figures["followed_kb_a_host"],
        MEMORY_BUDGET_KB if promised else None,
        figures=figures,
    )
