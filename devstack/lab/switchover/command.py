# SPDX-License-Identifier: Apache-2.0
"""lab.sh import: the time for which clients have no Placement while gantt takes over from one."""

import argparse
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from devstack.lab import private_redis
from devstack.lab.benchmark import Benchmark, host_count, positive
from devstack.lab.interruption import defer_signals
from devstack.lab.rows import ResultRow
from devstack.lab.switchover.import_command import ImportCommand
from devstack.lab.switchover.placement_cloud import PlacementCloud
from devstack.lab.temporary_folder import in_temporary_folder
from devstack.servers.mariadb import MariadbServer
from devstack.servers.redis import RedisServer

MARIADB, SQLITE = "mariadb", "sqlite"
BUDGET_SECONDS = 60.0  # of the last pass at the default size
CHANGES = {"1 % changed": 100, "all changed": 1}  # one of so many records


class ImportBenchmark(Benchmark):
    """Time the passes of gantt-placement-import: the first copy, the last one after writes stopped, and --verify.

    A Placement database is made: hosts with 3 inventories, 20 traits and an aggregate each, consumers with 3
    allocations each. gantt is on Redis with an append-only file that is synced each second. The last pass is timed from
    Ctrl-C to the end of the command: reads of the database included. The ratio is to 60 s.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--hosts", type=host_count, default=10_000, metavar="N", help="Hosts (%(default)s).")
        parser.add_argument(
            "--consumers", type=positive, default=100_000, metavar="N", help="Consumers on them (%(default)s)."
        )
        parser.add_argument(
            "--database",
            choices=(MARIADB, SQLITE),
            default=MARIADB,
            help="Placement's database; MariaDB has to be installed (%(default)s).",
        )
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[ResultRow]:
        rows: list[ResultRow] = []
        with (
            self.bar(len(CHANGES) + 3, "importing", args) as bar,
            _database_url(args.database) as url,
            private_redis.running("everysec") as redis,
        ):
            cloud = PlacementCloud(url, args.hosts, args.consumers)
            cloud.fill()
            bar.update()
            command = ImportCommand(url, _conf(redis))

            def add(name: str, seconds: float, budget: float | None = None) -> None:
                size = {"hosts": args.hosts, "consumers": args.consumers, "database": args.database}
                rows.append(ResultRow(name, seconds / BUDGET_SECONDS, budget, figures={"s": seconds, **size}))
                bar.update()

            add("import, first copy", command.seconds())
            for name, one_of in CHANGES.items():
                add(f"import, last pass, {name}", command.last_pass_seconds(lambda: cloud.change(one_of)), 1.0)  # noqa: B023
            add("import, verify", command.seconds("--verify"))
        return rows


def _conf(redis: RedisServer) -> Path:
    path = redis.folder / "gantt.conf"
    path.write_text(f"[rpc]\npartition = lab\n[store]\nurl = {redis.url()}\n", encoding="utf-8")
    return path


@contextlib.contextmanager
def _database_url(kind: str) -> Iterator[str]:
    """Yield the URL of an empty database; raises ServerError or BinaryMissing."""
    if kind == SQLITE:
        with in_temporary_folder(lambda folder: folder, lambda folder: None) as folder:
            yield f"sqlite:///{folder / 'placement.sqlite'}"
        return
    with in_temporary_folder(MariadbServer, MariadbServer.kill) as server:
        with defer_signals():
            server.start()
        yield server.url()
