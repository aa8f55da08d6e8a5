# SPDX-License-Identifier: Apache-2.0
"""Group membership through tooz, with a scripted driver, and the renewal of memberships."""

import logging
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from oslo_config import cfg
from tooz import coordination as tooz

from rpcapi import errors
from rpcapi.conf import register_groups, service_group
from rpcapi.daemon import coordination
from rpcapi.daemon.coordination import CoordinationGroup, Coordinator, Membership

GROUP = CoordinationGroup("zake://", "gantt.cell1", 32.0)


class Driver:
    """A driver whose operations raise the next of ``faults`` by their names."""

    def __init__(self, characteristics: tuple[Any, ...] = ()) -> None:
        self.CHARACTERISTICS = frozenset(characteristics)
        self.faults: dict[str, list[Exception]] = {}
        self.calls: list[str] = []

    def _call(self, name: str, result: Any = None) -> Any:
        self.calls.append(name)
        if self.faults.get(name):
            raise self.faults[name].pop(0)
        return result

    def start(self) -> None:
        self._call("start")

    def stop(self) -> None:
        self._call("stop")

    def heartbeat(self) -> None:
        self._call("heartbeat")

    def join_group(self, name: bytes) -> Any:
        return SimpleNamespace(get=lambda timeout: self._call("join"))

    def create_group(self, name: bytes) -> Any:
        return SimpleNamespace(get=lambda timeout: self._call("create"))

    def get_members(self, name: bytes) -> Any:
        return SimpleNamespace(get=lambda timeout: self._call("members", {b"h1", b"h2"}))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that gives a member whose coordinators are ``drivers``, and the options of each."""

    def use(*drivers: Driver, group: CoordinationGroup = GROUP) -> tuple[Coordinator, list[dict[str, Any]]]:
        rest, options_of = iter(drivers), []

        def get_coordinator(url: str, member: bytes, **options: Any) -> Driver:
            options_of.append({"url": url, "member": member, **options})
            return next(rest)

        monkeypatch.setattr(tooz, "get_coordinator", get_coordinator)
        return Coordinator(group, "h1"), options_of

    return use


def test_a_dead_member_is_detected_within_the_timeout() -> None:
    # the session lasts from the last heartbeat; then a poll may be one interval late and the grace must pass
    assert GROUP.session_timeout + GROUP.interval + GROUP.grace <= GROUP.timeout
    assert GROUP.interval < GROUP.session_timeout / 2, "one lost heartbeat must not end a session"


def test_group_is_configured_only_with_its_driver(conf: cfg.ConfigOpts) -> None:
    register_groups(conf, service_group)
    assert CoordinationGroup.from_conf(conf, "cell1") is None
    for name, value in {"driver": "tooz", "backend_url": "zake://", "timeout": 32.0}.items():
        conf.set_override(name, value, group="service_group")
    assert CoordinationGroup.from_conf(conf, "cell1") == GROUP


def test_member_joins_and_sends_heartbeats(opened: Any) -> None:
    driver = Driver()
    coordinator, options_of = opened(driver)
    coordinator.renew_membership()
    driver.faults["join"] = [tooz.MemberAlreadyExist(b"g", b"h1")]
    coordinator.renew_membership()
    assert driver.calls == ["start", "heartbeat", "join", "heartbeat", "join"]
    ((options),) = options_of
    assert (options["member"], options["timeout"], options["membership_timeout"]) == (b"h1", "16", 16.0)
    assert "connection_retry" not in options


def test_persistent_session_needs_no_heartbeat(opened: Any) -> None:
    driver = Driver((tooz.Characteristics.NON_TIMEOUT_BASED,))
    opened(driver)[0].renew_membership()
    assert driver.calls == ["start", "join"]


def test_zookeeper_reconnects_within_an_interval(opened: Any) -> None:
    coordinator, options_of = opened(Driver(), group=CoordinationGroup("zookeeper://h", "g", 32.0))
    coordinator.members()
    assert options_of[0]["connection_retry"]["max_delay"] == GROUP.interval


@pytest.mark.parametrize("created_by_another", [False, True])
def test_first_member_creates_the_group(opened: Any, created_by_another: bool) -> None:
    driver = Driver()
    driver.faults["join"] = [tooz.GroupNotCreated(b"g")]
    if created_by_another:
        driver.faults["create"] = [tooz.GroupAlreadyExist(b"g")]
    opened(driver)[0].renew_membership()
    assert driver.calls[-3:] == ["join", "create", "join"]


def test_members_are_text(opened: Any) -> None:
    assert opened(Driver())[0].members() == {"h1", "h2"}


@pytest.mark.parametrize(("persistent", "connections"), [(False, 2), (True, 1)])
def test_driver_is_replaced_after_an_error_unless_it_reconnects_itself(
    opened: Any, persistent: bool, connections: int
) -> None:
    characteristics = (tooz.Characteristics.NON_TIMEOUT_BASED,) if persistent else ()
    drivers = [Driver(characteristics) for _ in range(2)]
    drivers[0].faults["members"] = [ConnectionError("refused")]
    coordinator, options_of = opened(*drivers)
    with pytest.raises(errors.Unavailable, match=r"The service group gantt\.cell1.*ConnectionError: refused"):
        coordinator.members()
    assert coordinator.members() == {"h1", "h2"}
    assert len(options_of) == connections


def test_operation_without_an_answer_is_bounded(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordination, "ANSWER_SECONDS", 0.01)
    go = threading.Event()
    driver = Driver()
    monkeypatch.setattr(driver, "start", go.wait)
    with pytest.raises(errors.Unavailable, match=r"no answer in 0\.01 s"):
        opened(driver)[0].members()
    go.set()


def test_close_leaves_the_group_and_ignores_an_outage(opened: Any) -> None:
    drivers = [Driver(), Driver()]
    drivers[0].faults["stop"] = [ConnectionError("refused")]
    coordinator, options_of = opened(*drivers)
    coordinator.close()
    assert options_of == []
    coordinator.members()
    coordinator.close()
    coordinator.close()
    assert drivers[0].calls.count("stop") == 1


class RecordingCoordinator:
    """Records its calls in ``log``; raises Unavailable while ``away``."""

    away = False
    log: list[tuple[str, str]]

    def __init__(self, group: CoordinationGroup, member: str) -> None:
        self.member = member

    def renew_membership(self) -> None:
        self.log.append(("renew", self.member))
        if RecordingCoordinator.away:
            raise errors.Unavailable(what="The service group", why="it is away")

    def close(self) -> None:
        self.log.append(("close", self.member))


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    monkeypatch.setattr(coordination, "Coordinator", RecordingCoordinator)
    monkeypatch.setattr(RecordingCoordinator, "log", [], raising=False)
    monkeypatch.setattr(RecordingCoordinator, "away", False)
    return RecordingCoordinator.log


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_all_memberships_are_renewed_each_interval(log: list[Any]) -> None:
    pause = Membership(GROUP, ["h1", "h2"]).run_once()
    assert log == [("renew", "h1"), ("renew", "h2")]
    assert pause < GROUP.session_timeout / 2, "one lost heartbeat must not end a session"


def test_outage_is_logged_once(log: list[Any], caplog: pytest.LogCaptureFixture) -> None:
    renewal = Membership(GROUP, ["h1", "h2"])
    RecordingCoordinator.away = True
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
