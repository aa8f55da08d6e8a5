# SPDX-License-Identifier: Apache-2.0
"""The commands that stop, start, migrate and resize servers, and confirm or revert that."""

from rpcapi import objects
from tests.unit.rpcapi.cli.test_server import add_instances


def test_stop_and_start_wait_for_the_end(cluster, gantt):
    add_instances(cluster, "a", "b")
    assert gantt("server", "stop", "a", "b", "--wait").err == "2 stopped\n"
    assert {cluster.conductor.instances[name].status for name in "ab"} == {"SHUTOFF"}
    assert gantt("server", "start", "a", "--wait").err == "1 started\n"
    assert [cluster.conductor.instances[name].status for name in "ab"] == ["ACTIVE", "SHUTOFF"]


def test_stop_without_wait_returns_at_once(cluster, gantt):
    add_instances(cluster, "a")
    cluster.conductor.stuck = True
    assert gantt("server", "stop", "a").err == "1 to be stopped\n"
    assert cluster.conductor.instances["a"].status == "STOPPING"


def test_refusal_names_the_server_and_changes_nothing(cluster, gantt):
    add_instances(cluster, "a")
    add_instances(cluster, "b", status="ERROR")
    result = gantt("server", "stop", "a", "b")
    assert (result.code, result.err) == (1, "Instance b: it is ERROR\n")
    assert cluster.conductor.instances["a"].status == "ACTIVE"


def test_wait_fails_where_a_server_ends_otherwise_or_not_in_time(cluster, gantt):
    add_instances(cluster, "a")
    cluster.conductor.stuck = True
    result = gantt("server", "stop", "a", "--wait", "--timeout", "0.2")
    assert (result.code, result.err) == (1, "1 of 1 are not stopped: a: STOPPING\n")
    cluster.conductor.instances["a"].status = "ERROR"
    result = gantt("server", "stop", "a", "--wait")
    assert (result.code, result.err) == (1, "Instance a: it is ERROR\n")


def test_reboot_is_soft_unless_a_hard_one_is_requested(cluster, gantt):
    add_instances(cluster, "a")
    add_instances(cluster, "b", status="ERROR")
    result = gantt("server", "reboot", "b")
    assert (result.code, result.err) == (1, "Instance b: it is ERROR\n")
    assert gantt("server", "reboot", "a", "--wait").err == "1 rebooted\n"
    assert gantt("server", "reboot", "--hard", "b", "--wait").err == "1 rebooted\n"
    assert [cluster.conductor.instances[name].status for name in "ab"] == ["ACTIVE", "ACTIVE"]


def test_rebuilt_server_may_be_off(cluster, gantt):
    add_instances(cluster, "a", status="SHUTOFF")
    assert gantt("server", "rebuild", "a", "--wait").err == "1 rebuilt\n"
    assert cluster.conductor.instances["a"].status == "SHUTOFF"


def test_server_is_shelved_offloaded_and_unshelved(cluster, gantt):
    add_instances(cluster, "a")
    for action, message, status in (
        ("shelve", "1 shelved\n", "SHELVED"),
        ("offload", "1 offloaded\n", "SHELVED_OFFLOADED"),
        ("unshelve", "1 unshelved\n", "ACTIVE"),
    ):
        assert gantt("server", action, "a", "--wait").err == message
        assert cluster.conductor.instances["a"].status == status
    result = gantt("server", "offload", "a")
    assert (result.code, result.err) == (1, "Instance a: it is ACTIVE\n")


def test_host_of_an_unshelved_server_is_passed_on(cluster, gantt):
    add_instances(cluster, "a", status="SHELVED_OFFLOADED")
    assert gantt("server", "unshelve", "a", "--host", "h2/n1").err == "1 to be unshelved\n"
    assert cluster.conductor.unshelve_hosts == ["h2/n1"]


def test_rebuild_with_another_image_sends_what_the_configuration_says_of_it(cluster, gantt, config_file):
    config_file.write_text(f"{config_file.read_text()}[image:debian]\nid = 77\nproperties = hw_architecture=x86_64\n")
    add_instances(cluster, "a", status="SHUTOFF")
    result = gantt("server", "rebuild", "a", "--image", "nothing")
    assert (result.code, result.err) == (1, "Unknown image 'nothing'; known: debian\n")
    assert cluster.conductor.rebuild_images == []
    for arguments in ((), ("--image", "debian"), ("--image", "77")):
        assert gantt("server", "rebuild", "a", *arguments, "--wait").err == "1 rebuilt\n"
    image = {"id": "77", "name": "debian", "properties": {"hw_architecture": "x86_64"}}
    assert cluster.conductor.rebuild_images == [None, image, image]


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
