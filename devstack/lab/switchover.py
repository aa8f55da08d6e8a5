# SPDX-License-Identifier: Apache-2.0
"""lab.sh import: how long clients have no Placement while gantt takes over from one."""

import argparse
import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import os_traits
from sqlalchemy import Table, create_engine, insert, update
from sqlalchemy.engine import Engine, make_url
from sqlalchemy.pool import NullPool

from devstack.lab import private_servers
from devstack.lab.benchmark import Benchmark, host_count, option
from devstack.lab.hosts import stable_uuid
from devstack.lab.private_servers import running_mariadb, temporary_folder
from devstack.lab.rows import ResultRow
from devstack.servers.redis import RedisServer
from rpcapi.admin.argument import Argument
from rpcapi.cli.command import CommandFailed
from scheduler_svc.databases import DRIVERS
from scheduler_svc.placement.migration import placement_tables as tables

CLASSES = {"VCPU": 256, "MEMORY_MB": 1 << 20, "DISK_GB": 20_000}
AMOUNTS = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 10}
TRAITS = 20  # traits per host
AGGREGATES = 100
BATCH = 5000

Row = Mapping[str, Any]

FOLLOW = ("--follow", "--interval", "86400")
FIRST_LINE = "Pass 1: "
TAIL = 600
MARIADB, SQLITE = "mariadb", "sqlite"
BUDGET_SECONDS = 60.0  # budget of the last pass at the default size
CHANGES = {"1 % changed": 100, "all changed": 1}  # one record in this many changes


@dataclass(frozen=True, slots=True)
class PlacementCloud:
    """Placement's database with hosts, and consumers spread over them."""

    url: str
    hosts: int
    consumers: int

    def fill(self) -> None:
        engine = self._engine()
        tables.METADATA.create_all(engine)
        with engine.begin() as connection:
            for table, rows in self._rows():
                while batch := list(itertools.islice(rows, BATCH)):
                    connection.execute(insert(table), batch)

    def change(self, one_of: int) -> None:
        """Increase the generation of one in ``one_of`` hosts and consumers, like a client's write."""
        with self._engine().begin() as connection:
            for table in (tables.PROVIDERS, tables.CONSUMERS):
                values = {"generation": table.c.generation + 1}
                connection.execute(update(table).where(table.c.id % one_of == 0).values(values))

    def _engine(self) -> Engine:
        parsed = make_url(self.url)
        driver = DRIVERS.get(parsed.get_backend_name(), parsed.drivername)
        return create_engine(parsed.set(drivername=driver), poolclass=NullPool)

    def _rows(self) -> Iterator[tuple[Table, Iterator[Row]]]:
        traits = sorted(os_traits.get_traits())[:TRAITS]
        host_numbers, consumer_numbers = range(1, self.hosts + 1), range(1, self.consumers + 1)
        yield tables.RESOURCE_CLASSES, ({"id": n, "name": name} for n, name in enumerate(CLASSES, 1))
        yield tables.TRAITS, ({"id": n, "name": name} for n, name in enumerate(traits, 1))
        yield tables.AGGREGATES, ({"id": n, "uuid": stable_uuid(f"aggregate {n}")} for n in range(1, AGGREGATES + 1))
        yield tables.PROJECTS, iter([{"id": 1, "external_id": "project"}])
        yield tables.USERS, iter([{"id": 1, "external_id": "user"}])
        yield tables.CONSUMER_TYPES, iter([{"id": 1, "name": "INSTANCE"}])
        yield tables.PROVIDERS, (_host(number) for number in host_numbers)
        yield tables.INVENTORIES, (row for number in host_numbers for row in _inventories(number))
        yield (
            tables.PROVIDER_TRAITS,
            ({"trait_id": n, "resource_provider_id": host} for host in host_numbers for n in range(1, len(traits) + 1)),
        )
        yield (
            tables.PROVIDER_AGGREGATES,
            ({"aggregate_id": host % AGGREGATES + 1, "resource_provider_id": host} for host in host_numbers),
        )
        yield tables.CONSUMERS, (_consumer(number) for number in consumer_numbers)
        yield (
            tables.ALLOCATIONS,
            (row for number in consumer_numbers for row in _allocations(number, number % self.hosts + 1)),
        )


def _host(number: int) -> Row:
    identity = {"id": number, "root_provider_id": number, "uuid": stable_uuid(f"host {number}")}
    return {**identity, "name": f"host-{number}.example", "generation": 5}


def _inventories(host: int) -> Iterator[Row]:
    for number, total in enumerate(CLASSES.values(), 1):
        limits = {"reserved": 0, "min_unit": 1, "max_unit": total, "step_size": 1, "allocation_ratio": 1.0}
        yield {"resource_provider_id": host, "resource_class_id": number, "total": total, **limits}


def _consumer(number: int) -> Row:
    owner = {"project_id": 1, "user_id": 1, "consumer_type_id": 1}
    return {"id": number, "uuid": stable_uuid(f"consumer {number}"), "generation": 1, **owner}


def _allocations(consumer: int, host: int) -> Iterator[Row]:
    for number, amount in enumerate(AMOUNTS.values(), 1):
        what = {"resource_class_id": number, "used": amount}
        yield {"consumer_id": stable_uuid(f"consumer {consumer}"), "resource_provider_id": host, **what}


class ImportCommand:
    """Runs of gantt-placement-import from a Placement database to the store in a configuration file."""

    def __init__(self, source_url: str, conf: Path) -> None:
        self._command = [sys.executable, "-m", "scheduler_svc.cmd.placement_import", "--config-file", str(conf)]
        self._environment = {**os.environ, "GANTT_PLACEMENT_SOURCE": source_url, "PYTHONWARNINGS": "ignore"}

    def seconds(self, *options: str) -> float:
        began = time.perf_counter()
        done = subprocess.run(  # noqa: S603 - a fixed command, no shell
            [*self._command, *options],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        seconds = time.perf_counter() - began
        _require(done.returncode == 0, done.stdout + done.stderr)
        return seconds

    def last_pass_seconds(self, change: Callable[[], None]) -> float:
        """Run the command with --follow; return the seconds from Ctrl-C, sent after ``change``, to its end."""
        process = subprocess.Popen(  # noqa: S603 - a fixed command, no shell
            [*self._command, *FOLLOW],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        with process:
            try:
                assert process.stdout is not None  # noqa: S101 - created with a pipe
                line = process.stdout.readline()
                _require(line.startswith(FIRST_LINE), line)
                change()
                began = time.perf_counter()
                process.send_signal(signal.SIGINT)
                output = process.communicate()[0]
                seconds = time.perf_counter() - began
            finally:
                process.kill()
        _require(process.returncode == 0, output)
        return seconds


def _require(is_good: bool, output: str) -> None:
    if not is_good:
        raise CommandFailed(f"gantt-placement-import failed: {output.strip()[-TAIL:]}")


class ImportBenchmark(Benchmark):
    """Time the passes of gantt-placement-import: the first copy, the last one after writes stopped, and --verify.

    The Placement database has hosts with 3 inventories, 20 traits and an aggregate each, and consumers with 3
    allocations each. gantt's Redis syncs its append-only file each second. The last pass lasts from Ctrl-C to the end
    of the command, including reads of the database. Ratios are to 60 s.
    """

    ARGUMENTS = (
        option("--hosts", "Hosts", host_count, 10_000),
        option("--consumers", "Consumers on them", default=100_000),
        Argument("--database", choices=(MARIADB, SQLITE), default=MARIADB, help="Placement's database (%(default)s)."),
    )

    def measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        def row(name: str, seconds: float, budget: float | None = None) -> ResultRow:
            size = {"hosts": args.hosts, "consumers": args.consumers, "database": args.database}
            return ResultRow(name, seconds / BUDGET_SECONDS, budget, figures={"s": seconds, **size})

        with _database_url(args.database) as url, private_servers.running_redis("everysec") as redis:
            cloud = PlacementCloud(url, args.hosts, args.consumers)
            cloud.fill()
            command = ImportCommand(url, _conf(redis))
            yield row("import, first copy", command.seconds())
            for name, one_of in CHANGES.items():
                seconds = command.last_pass_seconds(partial(cloud.change, one_of))
                yield row(f"import, last pass, {name}", seconds, 1.0)
            yield row("import, verify", command.seconds("--verify"))


def _conf(redis: RedisServer) -> Path:
    path = redis.folder / "gantt.conf"
    path.write_text(f"[rpc]\npartition = lab\n[store]\nurl = {redis.url()}\n", encoding="utf-8")
    return path


@contextlib.contextmanager
def _database_url(kind: str) -> Iterator[str]:
    if kind == SQLITE:
        with temporary_folder() as folder:
            yield f"sqlite:///{folder / 'placement.sqlite'}"
        return
    with running_mariadb() as server:
        yield server.url()
