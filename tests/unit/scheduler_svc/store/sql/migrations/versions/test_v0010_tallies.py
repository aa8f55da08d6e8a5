# SPDX-License-Identifier: Apache-2.0
"""The migration that adds the sums by project."""

from sqlalchemy import Connection, text

from tests.unit.scheduler_svc.store.sql.migrations.versions.conftest import Migrate


def test_sums_of_a_stored_partition_are_not_complete(connection: Connection, migrate: Migrate) -> None:
    migrate("", "0009")
    connection.execute(
        text("INSERT INTO partitions (name, identity, epoch, position, decision) VALUES ('p', 'i', 1, 1, 0)")
    )
    migrate("0009", "0010")
    assert connection.execute(text("SELECT tallied FROM partitions")).scalar_one() is None
    assert connection.execute(text("SELECT * FROM tallies")).all() == []
