# SPDX-License-Identifier: Apache-2.0
"""The commands that stop and start servers."""

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
