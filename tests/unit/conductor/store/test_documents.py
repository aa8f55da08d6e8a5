# SPDX-License-Identifier: Apache-2.0
"""Documents of the conductor's store."""

import json
from dataclasses import replace

import pytest

from conductor.store import documents
from conductor.store.migrations import MigrationKind, MigrationRecord
from conductor.store.records import BuildRequestRecord, InstanceRecord

# As written by releases without names of instances.
UNNAMED = '{"schema":1,"request_id":"req","project":"p","user":"u","flavor":"m1.tiny","spec":{"a":1}}'


def test_request_of_an_earlier_release_has_no_names():
    request = documents.load_request("key", UNNAMED)
    assert request == BuildRequestRecord("key", "req", "p", "u", "m1.tiny", {"a": 1}, {})


def test_request_without_names_is_written_as_before():
    assert documents.dump_request(documents.load_request("key", UNNAMED)) == UNNAMED


def test_names_are_stored_with_the_request():
    request = BuildRequestRecord("key", "req", "p", "u", None, {}, {"uuid": "web"})
    assert documents.load_request("key", documents.dump_request(request)) == request


def test_instance_keeps_what_a_resize_gave_it_and_others_are_written_as_before():
    plain = InstanceRecord("a", "req", alternates=[], history=[])
    assert not {"spec", "flavor", "amounts"} & json.loads(documents.dump_instance(plain)).keys()
    resized = replace(plain, spec={"fields": [1]}, flavor="large", amounts={"instances": 1, "VCPU": 4})
    header = "req SCHEDULING select 0 1 0 0 0\n"
    assert documents.load_instance("a", header + documents.dump_instance(resized)) == resized


def test_instance_has_a_target_only_while_it_is_unshelved_on_it():
    plain = InstanceRecord("a", "req", alternates=[], history=[])
    assert "target" not in json.loads(documents.dump_instance(plain))
    targeted = replace(plain, target="h1/n")
    header = "req SCHEDULING select 0 1 0 0 0\n"
    assert documents.load_instance("a", header + documents.dump_instance(targeted)) == targeted


@pytest.mark.parametrize("with_disk", [True, False, None])
def test_live_migration_keeps_whether_its_disk_is_copied_or_that_it_was_not_checked(with_disk):
    migration = MigrationRecord(uuid="m", instance="a", kind=MigrationKind.LIVE, history=[], with_disk=with_disk)
    assert documents.load_migration("m", "0 0 0\n" + documents.dump_migration(migration)) == migration


def test_migration_of_one_instance_within_its_partition_is_written_as_before():
    migration = MigrationRecord(uuid="m", instance="a", kind=MigrationKind.MIGRATION, history=[])
    assert not {"allow_cross_cell", "group"} & json.loads(documents.dump_migration(migration)).keys()
    crossing = replace(migration, allow_cross_cell=True, group=["m", "n"])
    assert documents.load_migration(crossing.uuid, "0 0 0\n" + documents.dump_migration(crossing)) == crossing
