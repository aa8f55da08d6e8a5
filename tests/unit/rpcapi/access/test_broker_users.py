# SPDX-License-Identifier: Apache-2.0
"""Permissions of the services on RabbitMQ, and the users of the embedded bus."""

import re

import pytest

from rpcapi import errors
from rpcapi.access import broker_users
from rpcapi.access.broker_users import (
    DEAD_LETTER_EXCHANGE,
    DEAD_LETTER_QUEUE,
    FANOUTS,
    SERVICE_USERS,
    RabbitUser,
    agent,
)
from rpcapi.access.callers import CALLERS
from rpcapi.access.senders import SenderDirectory, SenderRole

USERS = {user.name: user for user in SERVICE_USERS}


def allows(pattern, name):
    return re.match(pattern, name) is not None


@pytest.mark.parametrize(
    ("caller", "service", "allowed"),
    [
        ("client", "scheduler", True),
        ("client", "compute", False),
        ("compute", "conductor", True),
        ("compute", "compute", False),  # no agent calls another
        ("scheduler", "compute", False),
        ("scheduler", "conductor", True),
        ("conductor", "compute", True),
    ],
)
def test_service_may_call_only_what_it_needs(caller, service, allowed):
    assert allows(USERS[caller].write, f"gantt-{service}") is allowed


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
def test_nobody_may_publish_to_the_default_exchange_or_read_queues_of_others(user):
    assert not allows(user.write, "")
    assert not allows(user.write, "amq.default")
    for service in {"scheduler", "claims", "conductor", "compute"} - set(user.serves):
        assert not allows(user.read, service)
        assert not allows(user.read, f"{service}.host1")


RANDOM = "0f" * 16


def test_server_reads_its_topics_of_all_partitions():
    user = RabbitUser("scheduler", serves=("claims",))
    for queue in ("claims", "claims.cell1", f"reply.scheduler.{RANDOM}"):
        assert allows(user.read, queue)
        assert allows(user.configure, queue)
    for queue in ("claims2", "my.claims", "claimsx.cell1", f"reply.scheduler.x.{RANDOM}", "reply.scheduler."):
        assert not allows(user.read, queue)


def test_user_owns_only_its_queues():
    for user, queue in (
        ("h1", "compute.h10"),
        ("h1", "compute.h1.site"),
        ("h1", "compute"),
        ("h1", f"compute_fanout.gantt-compute.h10.{RANDOM}"),
        ("h1", f"reply.gantt-compute.h10.{RANDOM}"),
        ("h.1", "compute.hx1"),
    ):
        for pattern in (agent(user).configure, agent(user).read, agent(user).write):
            assert not allows(pattern, queue)
    for queue in ("compute.h.1", f"compute_fanout.gantt-compute.h.1.{RANDOM}", f"reply.gantt-compute.h.1.{RANDOM}"):
        for pattern in (agent("h.1").configure, agent("h.1").read, agent("h.1").write):
            assert allows(pattern, queue)


@pytest.mark.parametrize("user", [*USERS.values(), agent("h1")], ids=[*USERS, "agent"])
def test_nobody_declares_or_deletes_exchanges_that_others_use(user):
    assert FANOUTS == ("compute_fanout",)
    others = ("scheduler_fanout", "claims_fanout", "conductor_fanout")
    for exchange in ("gantt-conductor", "gantt-scheduler", "gantt-compute", "gantt-replies", *FANOUTS, *others):
        assert not allows(user.configure, exchange)


def test_agent_binds_and_answers_with_its_own_keys_only():
    replies, topic = agent("h1").topic_permissions()
    assert (replies["exchange"], topic["exchange"]) == ("gantt-replies", "gantt-compute")
    assert allows(replies["read"], f"reply.gantt-compute.h1.{RANDOM}")
    assert not allows(replies["read"], f"reply.gantt-compute.h10.{RANDOM}")
    assert allows(replies["write"], f"reply.conductor.{RANDOM}")
    assert not allows(replies["write"], f"reply.gantt-compute.h10.{RANDOM}")
    assert allows(topic["read"], "compute.h1")
    for key in ("compute.h10", "compute", "#", "compute.*"):
        assert not allows(topic["read"], key)


def test_only_the_conductor_sends_fanouts_to_agents():
    assert [name for name, user in USERS.items() if allows(user.write, "compute_fanout")] == ["conductor"]


def test_services_write_dead_letters_and_operators_read_them():
    users = {**USERS, "agent": agent("h1")}
    writers = [name for name, user in users.items() if allows(user.write, DEAD_LETTER_EXCHANGE)]
    assert writers == ["scheduler", "conductor", "compute", "agent"]
    assert [name for name, user in users.items() if allows(user.read, DEAD_LETTER_QUEUE)] == ["operator"]
    for user in users.values():
        for name in (DEAD_LETTER_EXCHANGE, DEAD_LETTER_QUEUE):
            assert not allows(user.configure, name)
        assert not allows(user.write, DEAD_LETTER_QUEUE) and not allows(user.read, DEAD_LETTER_EXCHANGE)


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
