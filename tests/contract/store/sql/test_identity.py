# SPDX-License-Identifier: Apache-2.0
"""Emptied, recreated or replaced databases begin an epoch."""

import stat
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.engine import make_url

from scheduler_svc.store.sql import SqlStore, tables
from scheduler_svc.store.verbs.contents import UNNAMED_HOSTS
from tests.support.store.databases import engine, sql_partition
from tests.support.store.store_partition import StorePartition


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
    assert again.verify().awaited == [UNNAMED_HOSTS, "h1"]
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
