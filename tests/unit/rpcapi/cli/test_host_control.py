# SPDX-License-Identifier: Apache-2.0
"""Arguments that name a whole service host."""

import pytest

from rpcapi.cli.command import CommandFailed
from rpcapi.cli.host_control import parse_service_host


@pytest.mark.parametrize(
    ("command", "state"),
    [
        (("disable", "--reason", "fan"), "disabled"),
        (("enable",), "enabled"),
        (("fence", "--yes"), "fenced"),
        (("remove",), "removed"),
    ],
)
def test_command_on_a_whole_host_rejects_a_node(hosts, gantt, command, state):
    result = gantt("host", *command, "host1/node1")
    message = f"host1/node1 is a node; only a service host with all its nodes can be {state}: host1\n"
    assert (result.code, result.err) == (1, message)
    assert hosts.state["service"]["host1"]["enabled"] is True and hosts.removed == []


def test_service_host_is_returned_by_its_name():
    assert parse_service_host("host1", "fenced") == "host1"


def test_node_is_rejected_with_its_host():
    with pytest.raises(CommandFailed, match=r"h/n is a node; only a service host .* can be fenced: h$"):
        parse_service_host("h/n", "fenced")
