# SPDX-License-Identifier: Apache-2.0
"""Names in place of uuids of servers."""

import pytest

from tests.unit.rpcapi.cli import fakes

UUIDS = [f"00000000-0000-0000-0000-00000000a00{number}" for number in range(4)]


@pytest.fixture
def instances(cluster):
    names = ("web", "db", "web", None)
    for uuid, name in zip(UUIDS, names, strict=True):
        cluster.conductor.instances[uuid] = fakes.instance(uuid, name=name)
    return cluster.conductor.instances


def test_server_is_shown_by_name_and_by_uuid(instances, gantt):
    assert gantt("server", "show", "db", "-f", "json").json["uuid"] == UUIDS[1]
    assert gantt("server", "show", UUIDS[0], "-f", "json").json["name"] == "web"
    assert [row["name"] for row in gantt("server", "list", "-f", "json").json] == ["web", "db", "web", None]


def test_name_of_several_servers_is_rejected_with_their_uuids(instances, gantt):
    result = gantt("server", "delete", "db", "web")
    message = f"2 servers have the name 'web'; use a uuid: {UUIDS[0]}, {UUIDS[2]}\n"
    assert (result.code, result.err) == (1, message)
    assert {instance.status for instance in instances.values()} == {"ACTIVE"}


def test_name_means_the_server_that_is_not_deleted(instances, gantt):
    instances[UUIDS[0]].status = "DELETED"
    assert gantt("server", "delete", "web", UUIDS[2], "db").err == "2 to be deleted\n"
    assert [instances[uuid].status for uuid in UUIDS[:3]] == ["DELETED", "DELETING", "DELETING"]


def test_unknown_name_is_one_line(instances, gantt):
    assert gantt("server", "show", "mail").err == "No instance mail is recorded\n"


@pytest.mark.parametrize("spelling", [UUIDS[1].upper(), UUIDS[1].replace("-", "")])
def test_uuid_is_found_in_any_spelling(instances, gantt, spelling):
    assert gantt("server", "show", spelling, "-f", "json").json["name"] == "db"
