# SPDX-License-Identifier: Apache-2.0
"""Tests specific to the SQL backends: tables, locks, and server identity."""

import os
import signal
import stat
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import column, create_engine, table, text, update
from sqlalchemy.engine import Engine, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from devstack.servers.postgresql import PostgresqlServer
from rpcapi import errors
from scheduler_svc.core.records import ClaimBatch
from scheduler_svc.store.records import Durability
from scheduler_svc.store.sql import SqlStore, postgresql, sqlite, tables, timeouts
from scheduler_svc.store.sql.schema import VERSION_TABLE
from tests.unit.scheduler_svc.store.databases import sql_partition
from tests.unit.scheduler_svc.store.store_partition import StorePartition, intent

STARTS = """
import sys
from scheduler_svc.store.sql import SqlStore
store = SqlStore(sys.argv[1], "p1")
print("ready", flush=True)
sys.stdin.readline()
print(store.check_identity()[0])
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def fresh(request: pytest.FixtureRequest, run_folder: Path) -> Iterator[str]:
    """The URL of an empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{run_folder / 'fresh.sqlite'}"
        return
    url = make_url(request.getfixturevalue("postgresql_server").url())
    name = f"fresh_{uuid.uuid4().hex[:8]}"
    plain = create_engine(url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with plain.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield url.set(database=name).render_as_string(hide_password=False)
    with plain.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


def engine(url: str) -> Engine:
    """Return a SQLAlchemy engine for the database."""
    parsed = make_url(url)
    driver = "postgresql+psycopg" if parsed.get_backend_name() == "postgresql" else "sqlite"
    return create_engine(parsed.set(drivername=driver), poolclass=NullPool)


def run_concurrently(work: list[Callable[[], None]]) -> None:
    """Run each step in a thread, and raise the first error."""
    begin = threading.Barrier(len(work))
    raised: list[BaseException] = []

    def run(step: Callable[[], None]) -> None:
        begin.wait(30)
        try:
            step()
        except Exception as error:  # raised again below, in the test's thread
            raised.append(error)

    threads = [threading.Thread(target=run, args=(step,), daemon=True) for step in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not raised, raised
    assert not any(thread.is_alive() for thread in threads)


def test_concurrent_workers_create_the_tables_once(fresh: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", STARTS, fresh]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(Path.cwd())}, **pipes) for _ in range(2)]
    assert [worker.stdout.readline() for worker in workers] == ["ready\n"] * 2
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    assert len({worker.communicate(timeout=60)[0] for worker in workers}) == 1
    assert [worker.returncode for worker in workers] == [0] * 2
    with engine(fresh).connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "version_table": VERSION_TABLE, "include_name": _is_ours}
        )
        # The migrated tables equal the tables defined in the code.
        assert compare_metadata(context, tables.METADATA) == []


def test_tables_of_a_newer_version_are_rejected(fresh: str) -> None:
    SqlStore(fresh, "p1").check_identity()
    with engine(fresh).begin() as connection:
        connection.execute(update(table(VERSION_TABLE, column("version_num"))).values(version_num="9999"))
    with pytest.raises(errors.BadConfiguration, match=r"9999.*upgrade"):
        SqlStore(fresh, "p1").snapshot()


def test_concurrent_claims_do_not_overcommit(fresh: str) -> None:
    partition = sql_partition(fresh)
    partition.add_host("h1", amounts={"VCPU": 20, "MEMORY_MB": 64 * 20})
    stores = [SqlStore(fresh, partition.store.partition) for _ in range(3)]
    claimed: list[str] = []

    def decide(number: int) -> None:
        for turn in range(10):
            batch = partition.batch(intent(f"c{number}.{turn}", "h1"))
            # None of these may fail because of conflicts with the others.
            claimed.extend(number_.consumer for number_ in stores[number].prepare(batch).prepared if number_.host)

    run_concurrently([lambda number_=number: decide(number_) for number in range(3)])
    assert len(claimed) == 20 == len(partition.store.claims()[0])
    assert not partition.check().excess
    for store in stores:
        store.close()
    partition.store.close()


def test_claim_reads_only_its_own_rows(fresh: str) -> None:
    partition = sql_partition(fresh)
    for host in ("h1", "h2"):
        partition.add_host(host)
    partition.hold("c1", "h2")
    batch: ClaimBatch = partition.batch(intent("c2", "h1"))
    # Given unreadable rows of another host and its claim
    with engine(fresh).begin() as connection:
        for table, name, columns in (
            (tables.PROVIDERS, "h2", ("document", "capacity", "used")),
            (tables.SERVICES, "h2", ("document", "report")),
            (tables.CONSUMERS, "c1", ("claim",)),
        ):
            own = (table.c.partition == partition.store.partition, table.c.name == name)
            connection.execute(update(table).where(*own).values(dict.fromkeys(columns, "not to be read")))
    # Then claims on other hosts still work
    assert partition.store.prepare(batch).accepted
    assert partition.store.claims(host="h1")[0][0].consumer == "c2"
    assert partition.store.get_state("compute", "h1")[1]["used"]["VCPU"] == 1
    partition.store.close()


def test_emptied_sql_partition_begins_an_epoch(fresh: str) -> None:
    partition = sql_partition(fresh)
    partition.add_host("h1")
    before = partition.store.snapshot()
    with engine(fresh).begin() as connection:
        for table in tables.METADATA.sorted_tables:
            connection.execute(table.delete())
    now = partition.store.snapshot()
    assert now.epoch > before.epoch and now.position > before.position and not now.providers
    assert (
        partition.store.follow(before.position, 0) is None
        or partition.store.follow(before.position, 0)[0].kind == "epoch"
    )
    partition.store.close()


def test_recreated_tables_begin_an_epoch(fresh: str) -> None:
    # A restored dump: the same rows, in new tables or a new file.
    partition = sql_partition(fresh)
    partition.add_host("h1")
    partition.store.close()
    epoch = partition.store.snapshot().epoch
    partition.store.close()
    if fresh.startswith("sqlite"):
        path = Path(make_url(fresh).database)
        copied = path.with_name("copied")
        copied.write_bytes(path.read_bytes())
        copied.replace(path)
    else:
        with engine(fresh).begin() as connection:
            connection.execute(text("CREATE TABLE copied AS TABLE partitions"))
            connection.execute(text("DROP TABLE partitions"))
            connection.execute(text("ALTER TABLE copied RENAME TO partitions"))
            connection.execute(text("ALTER TABLE partitions ADD PRIMARY KEY (name)"))
    again = SqlStore(fresh, partition.store.partition)
    assert again.check_identity()[1] is True
    assert again.snapshot().epoch > epoch
    assert again.verify().awaited == ["h1"]
    again.close()


def test_replaced_file_is_detected(run_folder: Path) -> None:
    path = run_folder / "store.sqlite"
    partition: StorePartition = sql_partition(f"sqlite:///{path}")
    partition.add_host("h1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = partition.store.snapshot()
    for path in run_folder.glob("store.sqlite*"):
        path.unlink()
    now = partition.store.snapshot()
    assert now.epoch > before.epoch and now.position > before.position and not now.providers


def test_hanging_worker_loses_its_lock(postgresql_server: PostgresqlServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "IDLE_SECONDS", 0.3)
    partition = sql_partition(postgresql_server.url())
    partition.add_host("h1")
    hung = postgresql.Postgresql(make_url(postgresql_server.url()), "everysec")
    with hung.engine.connect() as connection:
        hung.lock(connection, partition.store.partition)
        assert partition.prepare("c1", "h1").host == "h1"
        with pytest.raises(DBAPIError, match="idle"):
            connection.execute(text("SELECT 1"))
    hung.close()
    partition.store.close()


@pytest.mark.parametrize(("durability", "is_news"), [("everysec", True), ("always", False)])
def test_file_after_a_machine_restart_begins_an_epoch(
    durability: Durability, is_news: bool, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot = run_folder / "boot_id"
    monkeypatch.setattr(sqlite, "BOOT_ID", boot)
    url = f"sqlite:///{run_folder / 'store.sqlite'}"
    for number, identity in enumerate(("first", "first", "second")):
        boot.write_text(identity)
        store = SqlStore(url, "p1", durability=durability)
        assert store.check_identity()[1] is (is_news and number == 2)
        store.close()


def test_hanging_server_is_unavailable(monkeypatch: pytest.MonkeyPatch, run_folder: Path) -> None:
    monkeypatch.setattr(timeouts, "SILENCE_SECONDS", 0.5)
    server = PostgresqlServer(run_folder)
    server.start()
    partition = sql_partition(server.url())
    position = partition.store.snapshot().position
    partition.store.follow(position, 1)
    sessions = [server.pid, *server.sessions()]
    try:
        for session in sessions:
            os.kill(session, signal.SIGSTOP)
        for verb in (partition.store.snapshot, lambda: partition.store.heartbeat("m1", "gantt-conductor")):
            with pytest.raises(errors.StoreUnavailable):
                verb()
    finally:
        for session in sessions:
            os.kill(session, signal.SIGCONT)
        partition.store.close()
        server.kill()


def test_follower_reconnects_after_terminated_connections(postgresql_server: PostgresqlServer) -> None:
    partition = sql_partition(postgresql_server.url())
    position = partition.store.snapshot().position
    # Given pooled connections that the server has terminated, which the pool does not know yet
    ended = text("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = :ours")
    with engine(postgresql_server.url()).connect() as connection:
        assert connection.scalar(ended, {"ours": "gantt-scheduler"})
    assert partition.store.follow(position, 1) == []
    partition.add_host("h1")
    assert partition.store.follow(position, 1)
    partition.store.close()


@pytest.mark.parametrize("url", ["sqlite:///not/absolute.sqlite", "sqlite://", "sqlite:///:memory:"])
def test_relative_sqlite_path_is_rejected(url: str) -> None:
    with pytest.raises(errors.BadConfiguration, match="sqlite:////absolute"):
        SqlStore(url, "p1")


@pytest.mark.parametrize(
    "url", ["postgresql://gantt:hidden@127.0.0.1:1/gantt", "sqlite:////nowhere-at-all/store.sqlite"]
)
def test_unavailable_error_does_not_contain_the_password(url: str) -> None:
    with pytest.raises(errors.StoreUnavailable) as caught:
        SqlStore(url, "p1").snapshot()
    assert "hidden" not in str(caught.value) and "\n" not in str(caught.value)


def _is_ours(name: str | None, kind: str, _parents: object) -> bool:
    return kind != "table" or name in tables.METADATA.tables
