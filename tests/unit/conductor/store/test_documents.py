# SPDX-License-Identifier: Apache-2.0
"""Documents of the conductor's store."""

import json
from dataclasses import replace

import pytest

from conductor.store import documents
from conductor.store.migrations import MigrationRecord
from conductor.store.records import BuildRequestRecord, InstanceRecord
from rpcapi.resources.statuses import MigrationKind

HEADER = "req SCHEDULING select 0 1 0 0 0\n"
MIGRATION = MigrationRecord("m", "a", MigrationKind.LIVE)


def test_names_are_stored_with_the_request():
    request = BuildRequestRecord("key", "req", "p", "u", None, {}, {"uuid": "web"})
    assert documents.load_request("key", documents.dump_request(request)) == request


def test_field_with_its_default_is_left_out_so_that_an_older_release_reads_the_document():
    assert json.loads(documents.dump_instance(InstanceRecord("a", "req"))) == {"schema": 1}
    assert documents.load_instance("a", HEADER + '{"schema":1}') == InstanceRecord("a", "req")
    moved = InstanceRecord("a", "req", attempt=2, host="h/n", migration=MIGRATION)
    assert json.loads(documents.dump_instance(moved)) == {
        **{"schema": 1, "attempt": 2, "host": "h/n"},
        "migration": {"uuid": "m", "instance": "a", "kind": "live-migration", "status": "preparing"},
    }
    assert documents.load_instance("a", HEADER + documents.dump_instance(moved)) == moved


def test_instance_keeps_what_a_resize_gave_it():
    plain = InstanceRecord("a", "req", alternates=[], history=[])
    resized = replace(plain, spec={"fields": [1]}, flavor="large", amounts={"instances": 1, "VCPU": 4})
    assert documents.load_instance("a", HEADER + documents.dump_instance(resized)) == resized


def test_instance_keeps_its_target():
    plain = InstanceRecord("a", "req", alternates=[], history=[])
    targeted = replace(plain, target="h1/n")
    assert documents.load_instance("a", HEADER + documents.dump_instance(targeted)) == targeted


@pytest.mark.parametrize("with_disk", [True, False, None])
def test_live_migration_keeps_whether_its_disk_is_copied_or_that_it_was_not_checked(with_disk):
    migration = MigrationRecord(uuid="m", instance="a", kind=MigrationKind.LIVE, history=[], with_disk=with_disk)
    assert documents.load_migration("m", "0 0 0\n" + documents.dump_migration(migration)) == migration


def test_migration_of_several_instances_to_another_partition_is_stored():
    migration = MigrationRecord(uuid="m", instance="a", kind=MigrationKind.MIGRATION, history=[])
    crossing = replace(migration, allow_cross_cell=True, group=["m", "n"])
    assert documents.load_migration(crossing.uuid, "0 0 0\n" + documents.dump_migration(crossing)) == crossing
