# SPDX-License-Identifier: Apache-2.0
"""Senders by the names of the broker's users."""

import pytest

from rpcapi import errors
from rpcapi.access.senders import SenderDirectory, SenderRole, agent_user, client_user

DIRECTORY = SenderDirectory(["lab0", "lab1"])


@pytest.mark.parametrize(
    ("user", "role"),
    [
        ("conductor", SenderRole.CONDUCTOR),
        ("scheduler", SenderRole.SCHEDULER),
        ("operator", SenderRole.OPERATOR),
        ("operator.alice", SenderRole.OPERATOR),
        ("client.horizon", SenderRole.CLIENT),
        ("gantt-compute.h1", SenderRole.AGENT),
        ("compute", SenderRole.AGENT),
        ("admin", SenderRole.ADMIN),
        ("agent", None),
        ("conductors", None),
        ("gantt-compute", None),
        ("guest", None),
        ("client.horizon@", None),
        ("client@p", None),
        ("client@p.q", None),
    ],
)
def test_role_of_a_user(user, role):
    assert DIRECTORY.sender(user).role is role


@pytest.mark.parametrize(
    ("user", "project"),
    [
        (client_user("horizon"), None),
        ("client", None),
        (client_user("horizon", "p"), "p"),
        (client_user("h.1", "p.q"), "p.q"),
        ("client.@p", "p"),
        ("client.a@b@c", "b@c"),
        ("operator.alice@example.org", None),
    ],
)
def test_project_of_a_client(user, project):
    assert DIRECTORY.sender(user).role is not None
    assert DIRECTORY.sender(user).project == project


@pytest.mark.parametrize(
    ("name", "project"),
    [("", None), ("a@b", None), ("a b", None), (".a", "p"), ("a" * 65, "p"), ("a", ""), ("a", "#"), ("a", "p" * 129)],
)
def test_names_of_clients_are_checked(name, project):
    with pytest.raises(errors.InvalidRequest, match="of a client must have 1 to"):
        client_user(name, project)


@pytest.mark.parametrize("user", [None, ""])
def test_message_without_a_user_has_no_sender(user):
    assert DIRECTORY.sender(user) is None


def test_agent_speaks_for_its_host_and_its_nodes_only():
    sender = DIRECTORY.sender(agent_user("h1.site"))
    assert sender.is_agent_of("h1.site")
    assert sender.is_agent_of(("h1.site", "node0"))
    assert sender.is_agent_of("h1.site/node0/numa1")
    for name in ("h1", "h1.site2", "h10", "xh1.site", "", "h1.site/", 7, None, ["h1.site"]):
        assert not sender.is_agent_of(name)


def test_shared_agent_speaks_for_the_listed_hosts_only():
    sender = DIRECTORY.sender("compute")
    assert sender.is_agent_of("lab1/node3")
    assert not sender.is_agent_of("lab2")
    assert not SenderDirectory().sender("compute").is_agent_of("lab1")


@pytest.mark.parametrize(
    ("topic", "server", "user", "accepted"),
    [
        ("scheduler", None, "scheduler", True),
        ("scheduler", None, "conductor", False),
        ("claims.cell1", None, "scheduler", True),
        ("claims.cell1", None, "gantt-compute.h1", False),
        ("conductor", None, "conductor", True),
        ("conductor", None, None, False),
        ("conductor", None, "admin", True),
        ("compute", "h1", "gantt-compute.h1", True),
        ("compute", "h1", "gantt-compute.h10", False),
        ("compute", "lab1", "compute", True),
        ("compute", "lab2", "compute", False),
        ("echo", None, None, True),
    ],
)
def test_replies_are_accepted_from_whom_was_called(topic, server, user, accepted):
    assert DIRECTORY.responder_check(topic, server)(user) is accepted
