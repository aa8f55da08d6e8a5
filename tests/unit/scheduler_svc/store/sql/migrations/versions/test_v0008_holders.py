# SPDX-License-Identifier: Apache-2.0
"""The migration that adds the claims by the providers that they hold from."""

import json

from sqlalchemy import Connection, text

from tests.unit.scheduler_svc.store.sql.migrations.versions.conftest import Migrate


def test_stored_claims_on_several_providers_are_indexed(connection: Connection, migrate: Migrate) -> None:
    migrate("", "0007")
    claims = [
        {"consumer": "c1", "host": "h1", "allocations": {"h1": {"VCPU": 1}}},
        {"consumer": "c2", "host": "h1", "allocations": {"h1": {"VCPU": 1}, "p1": {"DISK_GB": 1}}},
    ]
    statement = text("INSERT INTO consumers (partition, name, claim) VALUES ('p', :name, :claim)")
    connection.execute(statement, [{"name": claim["consumer"], "claim": json.dumps(claim)} for claim in claims])
    connection.execute(text("INSERT INTO consumers (partition, name, ended_ms) VALUES ('p', 'c3', 7)"))
    migrate("0007", "0008")
    assert [tuple(row) for row in connection.execute(text("SELECT * FROM holders"))] == [("p", "p1|c2", 1)]
