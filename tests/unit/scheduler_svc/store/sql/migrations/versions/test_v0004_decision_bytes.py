# SPDX-License-Identifier: Apache-2.0
"""The migration that adds the size of the decision record."""

from sqlalchemy import Connection, inspect, text

from scheduler_svc.store.sql.migrations.versions.v0004_decision_bytes import ESTIMATE
from tests.unit.scheduler_svc.store.sql.migrations.versions.conftest import Migrate


def test_sizes_of_stored_decisions_are_estimated_by_their_numbers(connection: Connection, migrate: Migrate) -> None:
    migrate("", "0003")
    statement = text("INSERT INTO decisions (partition, number, request, document) VALUES ('p1', :number, 'r', '{}')")
    connection.execute(statement, [{"number": 1}, {"number": 3}])
    migrate("0003", "0004")
    rows = connection.execute(text("SELECT number, until_bytes FROM decisions ORDER BY number")).all()
    assert [tuple(row) for row in rows] == [(1, ESTIMATE), (3, 3 * ESTIMATE)]
    assert "decisions_by_bytes" in {index["name"] for index in inspect(connection).get_indexes("decisions")}
