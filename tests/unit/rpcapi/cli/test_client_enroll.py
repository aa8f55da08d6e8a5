# SPDX-License-Identifier: Apache-2.0
"""``gantt client enroll`` and ``revoke``."""

import pytest

from rpcapi.access.rabbit_management import BrokerAdministration
from rpcapi.cli import enrollment


@pytest.fixture
def broker(monkeypatch, tmp_path):
    """Users by name with their passwords, in place of the broker's."""
    users = {}

    def enroll(administration, user, password):
        users[user.name] = password

    monkeypatch.setattr(BrokerAdministration, "enroll", enroll)
    monkeypatch.setattr(BrokerAdministration, "revoke", lambda administration, name: bool(users.pop(name, None)))
    path = tmp_path / "broker"
    path.write_text("https://admin:secret@broker:15671/gantt\n")
    monkeypatch.setenv(enrollment.BROKER_FILE, str(path))
    return users


def test_client_is_enrolled_for_the_project_of_the_command_line(broker, gantt):
    result = gantt("client", "enroll", "horizon", "--project", "p1")
    assert (result.code, result.out) == (0, broker["client.horizon@p1"] + "\n")
    assert "for project p1 only" in result.err
    assert gantt("--project", "p2", "client", "enroll", "horizon").code == 0
    assert sorted(broker) == ["client.horizon@p1", "client.horizon@p2"]


def test_project_of_the_environment_limits_no_client(broker, gantt, monkeypatch):
    monkeypatch.setenv("GANTT_PROJECT", "p1")
    result = gantt("client", "enroll", "horizon")
    assert list(broker) == ["client.horizon"] and "for all projects" in result.err


def test_revoke_deletes_that_user_only(broker, gantt):
    gantt("client", "enroll", "horizon")
    gantt("client", "enroll", "horizon", "--project", "p1")
    assert "User client.horizon@p1 is deleted" in gantt("client", "revoke", "horizon", "--project", "p1").err
    assert "There is no user client.horizon@p1" in gantt("client", "revoke", "horizon", "--project", "p1").err
    assert list(broker) == ["client.horizon"]


def test_bad_names_are_one_line_and_reach_no_broker(broker, gantt):
    for words in (("a@b",), ("a", "--project", "#"), ("a", "--project", "")):
        result = gantt("client", "enroll", *words)
        assert result.code == 1 and "of a client must have 1 to" in result.err and not broker
