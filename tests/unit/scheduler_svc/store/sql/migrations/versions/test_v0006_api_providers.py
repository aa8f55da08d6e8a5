# SPDX-License-Identifier: Apache-2.0
"""The migration that adds the providers of the Placement API."""

from sqlalchemy import Connection, text

from tests.unit.scheduler_svc.store.sql.migrations.versions.conftest import Migrate

PARTITION = "INSERT INTO partitions (name, identity, epoch, position, decision) VALUES ('p1', 'one', 4, 9, 2)"


def test_generations_of_a_stored_partition_begin_at_zero(connection: Connection, migrate: Migrate) -> None:
    migrate("", "0005")
    connection.execute(text(PARTITION))
    connection.execute(text("INSERT INTO providers (partition, name, used) VALUES ('p1', 'h1', '{}')"))
    migrate("0005", "0006")
    assert connection.execute(text("SELECT generation_base FROM partitions")).scalar_one() == 0
    row = connection.execute(text("SELECT name, generation, children FROM providers")).one()
    assert tuple(row) == ("h1", None, None)
    assert connection.execute(text("SELECT count(*) FROM provider_names")).scalar_one() == 0
