# SPDX-License-Identifier: Apache-2.0
"""The migration that adds a partition's own time."""

from sqlalchemy import Connection, text

from tests.unit.scheduler_svc.store.sql.migrations.versions.conftest import Migrate


def test_stored_partition_has_no_time_yet(connection: Connection, migrate: Migrate) -> None:
    migrate("", "0001")
    connection.execute(text("INSERT INTO partitions VALUES ('p1', 'one', 4, 9, 2)"))
    migrate("0001", "0002")
    row = connection.execute(text("SELECT epoch, position, decision, time_ms, clock_ms FROM partitions")).one()
    assert tuple(row) == (4, 9, 2, None, None)
