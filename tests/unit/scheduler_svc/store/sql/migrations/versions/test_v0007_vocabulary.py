# SPDX-License-Identifier: Apache-2.0
"""The migration that adds the position of the last change of traits or inventories."""

from sqlalchemy import Connection, text

from tests.unit.scheduler_svc.store.sql.migrations.versions.conftest import Migrate

PARTITION = "INSERT INTO partitions (name, identity, epoch, position, decision) VALUES ('p1', 'one', 4, 9, 2)"


def test_providers_of_a_stored_partition_may_have_changed_until_now(connection: Connection, migrate: Migrate) -> None:
    migrate("", "0006")
    connection.execute(text(PARTITION))
    migrate("0006", "0007")
    assert connection.execute(text("SELECT vocabulary FROM partitions")).scalar_one() == 9
