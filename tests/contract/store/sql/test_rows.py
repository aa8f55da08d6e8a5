# SPDX-License-Identifier: Apache-2.0
"""A claim reads only its own rows."""

from sqlalchemy import update

from scheduler_svc.core.records import ClaimBatch
from scheduler_svc.store.sql import tables
from tests.support.store.databases import engine, sql_partition
from tests.support.store.store_partition import intent


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
