# SPDX-License-Identifier: Apache-2.0
"""Documents of declared namespaces, as rows."""

import pytest
from sqlalchemy import update

from rpcapi import errors
from scheduler_svc.store.sql.tables import STATES
from tests.unit.scheduler_svc.store.sql.connections import OTHER, PARTITION, connect, open_partition


def test_document_is_replaced_with_its_version_and_deleted() -> None:
    with connect() as connection:
        for versioned in ((1, {"watts": 5}), (2, {"power": ["red"]})):
            partition = open_partition(connection)
            partition.states["rack|h1"] = versioned
            partition.finish()
            assert open_partition(connection).states["rack|h1"] == versioned
        partition = open_partition(connection)
        del partition.states["rack|h1"]
        partition.finish()
        assert "rack|h1" not in open_partition(connection).states


def test_partitions_and_namespaces_are_separate() -> None:
    with connect() as connection:
        for name, namespace in ((PARTITION, "rack"), (PARTITION, "rack2"), (OTHER, "rack")):
            partition = open_partition(connection, name)
            partition.states[f"{namespace}|h1"] = (1, {"of": f"{name} {namespace}"})
            partition.finish()
        other = open_partition(connection, OTHER)
        del other.states["rack|h1"]
        other.finish()
        assert open_partition(connection).documents("rack") == {"h1": {"of": "p1 rack"}}
        assert open_partition(connection, OTHER).documents("rack") == {}


def test_document_of_a_newer_schema_is_rejected() -> None:
    with connect() as connection:
        partition = open_partition(connection)
        partition.states["rack|h1"] = (1, {})
        partition.finish()
        connection.execute(update(STATES).values(document='{"schema":2,"state":{}}'))
        with pytest.raises(errors.IncompatibleObject):
            open_partition(connection).states["rack|h1"]
