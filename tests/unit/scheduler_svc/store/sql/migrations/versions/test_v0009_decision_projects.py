# SPDX-License-Identifier: Apache-2.0
"""The migration that adds the project of each decision record."""

from sqlalchemy import Connection, text

from scheduler_svc.store.sql import decisions
from tests.unit.scheduler_svc.store.sql.migrations.versions.conftest import Migrate


def test_stored_decisions_are_found_by_their_request_alone(connection: Connection, migrate: Migrate) -> None:
    migrate("", "0008")
    statement = "INSERT INTO decisions (partition, number, request, document) VALUES ('p1', 1, 'r', :document)"
    connection.execute(text(statement), {"document": '{"schema": 1, "project": "one"}'})
    migrate("0008", "0009")
    assert decisions.newest(connection, "p1", "r", "one") is None
    assert decisions.newest(connection, "p1", "r", None) == {"schema": 1, "project": "one"}
