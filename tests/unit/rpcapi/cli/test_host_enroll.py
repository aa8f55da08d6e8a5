# SPDX-License-Identifier: Apache-2.0
"""``gantt host enroll`` and ``revoke``."""

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


def test_enroll_prints_only_the_password(broker, gantt):
    result = gantt("host", "enroll", "host1")
    assert (result.code, result.out) == (0, broker["gantt-compute.host1"] + "\n")
    assert gantt("host", "enroll", "host1").out != result.out


def test_revoke_deletes_the_user_and_fences(broker, cluster, gantt):
    cluster.scheduler.service("host1")
    cluster.claims.claim("a", host="host1/node1")
    gantt("host", "enroll", "host1")
    result = gantt("host", "revoke", "host1")
    assert result.code == 1 and "Use --yes to confirm" in result.err and broker
    result = gantt("host", "revoke", "host1", "--yes")
    assert (result.code, broker, cluster.claims.replaced) == (0, {}, ["host1"])
    assert "host1 is fenced: 1 claims ended" in result.err


def test_revoke_may_be_repeated_and_needs_no_report(broker, cluster, gantt):
    result = gantt("host", "revoke", "host9", "--yes")
    assert (result.code, cluster.claims.replaced) == (0, [])
    assert "There is no user gantt-compute.host9" in result.err and "nothing to fence" in result.err


@pytest.mark.parametrize("text", ["", "https://broker:15671", "ftp://a:secret@broker"])
def test_bad_broker_file_is_one_line_without_its_password(broker, gantt, tmp_path, text):
    (tmp_path / "broker").write_text(text)
    result = gantt("host", "enroll", "host1")
    assert result.code == 1 and result.err.count("\n") == 1 and "secret" not in result.err
    assert "must be like https://NAME:PASSWORD@HOST:15671/VHOST" in result.err


def test_node_and_absent_broker_file_are_refused(gantt, monkeypatch):
    monkeypatch.delenv(enrollment.BROKER_FILE, raising=False)
    assert "only a service host" in gantt("host", "enroll", "host1/node1").err
    assert "--broker-file PATH" in gantt("host", "enroll", "host1").err
