# SPDX-License-Identifier: Apache-2.0
"""Renewal of the memberships of a process's services."""

import logging
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.daemon import coordination
from rpcapi.daemon.coordination import CoordinationGroup, Membership

GROUP = CoordinationGroup("zake://", "gantt.cell1", 32.0)


class Coordinator:
    """Records its calls in ``log``; raises Unavailable while ``away``."""

    away = False
    log: list[tuple[str, str]]

    def __init__(self, group: CoordinationGroup, member: str) -> None:
        self.member = member

    def renew_membership(self) -> None:
        self.log.append(("renew", self.member))
        if Coordinator.away:
            raise errors.Unavailable(what="The service group", why="it is away")

    def close(self) -> None:
        self.log.append(("close", self.member))


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    monkeypatch.setattr(coordination, "Coordinator", Coordinator)
    monkeypatch.setattr(Coordinator, "log", [], raising=False)
    monkeypatch.setattr(Coordinator, "away", False)
    return Coordinator.log


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_all_memberships_are_renewed_each_interval(log: list[Any]) -> None:
    pause = Membership(GROUP, ["h1", "h2"]).run_once()
    assert log == [("renew", "h1"), ("renew", "h2")]
    assert pause < GROUP.session_timeout / 2, "one lost heartbeat must not end a session"


def test_outage_is_logged_once(log: list[Any], caplog: pytest.LogCaptureFixture) -> None:
    renewal = Membership(GROUP, ["h1", "h2"])
    Coordinator.away = True
    for _ in range(3):
        with pytest.raises(errors.Unavailable) as outage:
            renewal.run_once()
        assert renewal.handle_failure(outage.value) < GROUP.session_timeout / 2
    (warning,) = warnings(caplog)
    assert "gantt.cell1 skipped: " in warning


def test_stopping_process_renews_nothing_and_leaves(log: list[Any]) -> None:
    renewal = Membership(GROUP, ["h1", "h2"])
    renewal.stop()
    renewal.run_once()
    assert log == []
    renewal.finish()
    assert sorted(log) == [("close", "h1"), ("close", "h2")]
