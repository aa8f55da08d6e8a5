# SPDX-License-Identifier: Apache-2.0
"""The migration that adds the offset of a service's clock."""

from sqlalchemy import Connection, text

from tests.unit.scheduler_svc.store.sql.migrations.versions.conftest import Migrate


def test_offset_of_a_stored_service_is_unknown(connection: Connection, migrate: Migrate) -> None:
    migrate("", "0002")
    connection.execute(text("INSERT INTO services (partition, name, beat_ms) VALUES ('p1', 'h1', 7)"))
    migrate("0002", "0003")
    assert tuple(connection.execute(text("SELECT name, beat_ms, clock_offset FROM services")).one()) == ("h1", 7, None)
