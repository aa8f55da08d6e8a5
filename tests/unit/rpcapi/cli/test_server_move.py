# SPDX-License-Identifier: Apache-2.0
"""The commands that migrate and resize servers, and confirm or revert that."""

from rpcapi import objects
from tests.unit.rpcapi.cli.test_server import add_instances


def statuses(cluster, names):
    return [cluster.conductor.instances[name].status for name in names]


def test_migrated_servers_are_confirmed_or_reverted(cluster, gantt):
    add_instances(cluster, "a", "b")
    assert gantt("server", "migrate", "a", "b", "--wait").err == "2 migrated\n"
    assert cluster.conductor.moves == [("migrate", ["a", "b"], {"host": None, "allow_cross_cell": False})]
    assert statuses(cluster, "ab") == ["VERIFY_RESIZE"] * 2
    assert len({cluster.conductor.instances[name].migration for name in "ab"}) == 2
    assert gantt("server", "confirm", "a", "--wait").err == "1 confirmed\n"
    assert gantt("server", "revert", "b", "--wait").err == "1 reverted\n"
    assert statuses(cluster, "ab") == ["ACTIVE"] * 2


def test_target_of_a_migration_is_passed_on(cluster, gantt):
    add_instances(cluster, "a")
    assert gantt("server", "migrate", "a", "--host", "h2", "--allow-cross-cell").err == "1 to be migrated\n"
    assert cluster.conductor.moves == [("migrate", ["a"], {"host": "h2", "allow_cross_cell": True})]


def test_wait_fails_with_the_reason_of_the_migration(cluster, gantt):
    add_instances(cluster, "a")
    cluster.conductor.ends = iter(["ACTIVE"])
    cluster.conductor.migration_status, cluster.conductor.migration_reason = "error", "no valid host"
    result = gantt("server", "migrate", "a", "--wait")
    (migration,) = cluster.conductor.migrations
    assert (result.code, result.err) == (
        1,
        f"1 of 1 are not migrated: a: migration {migration} is error: no valid host\n",
    )


def test_servers_are_resized_with_the_image_that_they_have(cluster, gantt):
    add_instances(cluster, "a", "b", "c")
    secure = {"id": "i", "properties": {"os_secure_boot": "required"}}
    for name, image in (("a", {}), ("b", secure), ("c", {})):
        cluster.conductor.specs[name] = objects.RequestSpec.of(resources={"VCPU": 1}, image=image)
    assert gantt("server", "resize", "a", "b", "c", "--flavor", "m1.small", "--wait").err == "3 resized\n"
    ((_method, uuids, values),) = cluster.conductor.moves
    assert uuids == ["a", "b", "c"]
    plain, secured = values["specs"]
    assert plain.flavor == secured.flavor == "m1.small"
    assert (plain.image, secured.image) == ({}, secure)
    assert secured.required_traits and not plain.required_traits


def test_server_without_an_image_is_resized_to_a_flavor_with_which_it_could_boot(cluster, gantt):
    add_instances(cluster, "a")
    cluster.conductor.specs["a"] = objects.RequestSpec.of(resources={"VCPU": 1})
    command = ("flavor", "create", "secret", "--vcpus", "1", "--ram", "64", "--property", "hw:mem_encryption=true")
    assert gantt(*command).code == 0
    assert gantt("server", "resize", "a", "--flavor", "secret").err == "1 to be resized\n"
    ((_method, _uuids, values),) = cluster.conductor.moves
    assert values["specs"][0].resources["MEM_ENCRYPTION_CONTEXT"] == 1


def test_unknown_flavor_and_refused_server_change_nothing(cluster, gantt):
    add_instances(cluster, "a")
    cluster.conductor.specs["a"] = objects.RequestSpec.of(resources={"VCPU": 1})
    result = gantt("server", "resize", "a", "--flavor", "m9")
    assert result.code == 1 and "m9" in result.err
    cluster.conductor.instances["a"].status = "ERROR"
    result = gantt("server", "migrate", "a")
    assert (result.code, result.err) == (1, "Instance a: it is ERROR\n")
    assert statuses(cluster, "a") == ["ERROR"]


def test_server_without_a_migration_cannot_be_confirmed(cluster, gantt):
    add_instances(cluster, "a")
    result = gantt("server", "confirm", "a")
    assert (result.code, result.err) == (1, "1 of 1 have no migration: a\n")
