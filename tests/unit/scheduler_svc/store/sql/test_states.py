# SPDX-License-Identifier: Apache-2.0
"""Documents of declared namespaces, as rows."""

import pytest
from sqlalchemy import update

from rpcapi import errors
from scheduler_svc.store.sql import states
from scheduler_svc.store.sql.tables import STATES
from tests.unit.scheduler_svc.store.sql.connections import OTHER, PARTITION, connect


def test_document_is_replaced_with_its_version_and_deleted() -> None:
    with connect() as connection:
        assert states.read(connection, PARTITION, "rack", "h1") is None
        states.write(connection, PARTITION, "rack", "h1", (1, {"watts": 5}))
        states.write(connection, PARTITION, "rack", "h1", (2, {"power": ["red"]}))
        assert states.read(connection, PARTITION, "rack", "h1") == (2, {"power": ["red"]})
        states.write(connection, PARTITION, "rack", "h1", None)
        assert states.read(connection, PARTITION, "rack", "h1") is None
        states.write(connection, PARTITION, "rack", "h1", None)


def test_partitions_and_namespaces_are_separate() -> None:
    with connect() as connection:
        for partition, namespace in ((PARTITION, "rack"), (PARTITION, "volume"), (OTHER, "rack")):
            states.write(connection, partition, namespace, "h1", (1, {"of": f"{partition} {namespace}"}))
        states.write(connection, OTHER, "rack", "h1", None)
        assert states.read_all(connection, PARTITION, "rack") == {"h1": {"of": "p1 rack"}}
        assert states.read_all(connection, OTHER, "rack") == {}


def test_document_of_a_newer_schema_is_rejected() -> None:
    with connect() as connection:
        states.write(connection, PARTITION, "rack", "h1", (1, {}))
        connection.execute(update(STATES).values(document='{"schema":2,"state":{}}'))
        with pytest.raises(errors.IncompatibleObject):
            states.read(connection, PARTITION, "rack", "h1")
