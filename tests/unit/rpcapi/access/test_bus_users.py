# SPDX-License-Identifier: Apache-2.0
"""Users of the embedded bus."""

import pytest

from rpcapi import errors
from rpcapi.access import broker_users
from rpcapi.access.callers import CALLERS
from rpcapi.access.senders import SenderDirectory, SenderRole


@pytest.mark.parametrize(
    ("login", "user"),
    [(None, "admin"), ("", "admin"), ("operator", "operator"), ("compute", "compute")],
)
def test_login_without_a_name_is_the_administrator(login, user):
    assert broker_users.user_of(login) == user


@pytest.mark.parametrize("login", ["bus", "gantt-compute.h1", "operator.alice", "client.web@p1", "operator:x", "*"])
def test_unknown_login_is_refused(login):
    with pytest.raises(errors.BadConfiguration, match=r"its users are .* operator, reader, client"):
        broker_users.user_of(login)


@pytest.mark.parametrize("service", CALLERS)
def test_all_roles_of_the_table_of_callers_may_send_to_the_service(service):
    directory = SenderDirectory()
    roles = {directory.sender(user).role for user in broker_users.callers_of(f"{service}.x")}
    assert roles == {SenderRole.ADMIN}.union(*(rule.roles for rule in CALLERS[service].values()))


def test_anybody_may_call_another_service():
    assert broker_users.callers_of("echo") == broker_users.BUS_USERS


def test_agents_answer_conductors_only():
    assert broker_users.receivers_of_replies("compute") == ("conductor", "admin")
    assert broker_users.receivers_of_replies("client") == ("admin",)
    assert set(broker_users.receivers_of_replies("scheduler")) == set(broker_users.BUS_USERS)
