# SPDX-License-Identifier: Apache-2.0
"""Group memberships at a coordination service through tooz, with bounded waits."""

import contextlib
import importlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from oslo_config import cfg

from rpcapi import errors
from rpcapi.background import Periodic
from rpcapi.conf import service_group

Result = TypeVar("Result")

ANSWER_SECONDS = 5.0  # limit of each operation


@dataclass(frozen=True, slots=True)
class CoordinationGroup:
    """Group of services; session, poll and grace together detect a dead one within ``timeout`` seconds."""

    url: str
    name: str
    timeout: float

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, partition: str) -> "CoordinationGroup | None":
        """Return the group of a partition's services; None if the store tracks liveness."""
        if conf.service_group.driver != service_group.TOOZ:
            return None
        return cls(conf.service_group.backend_url, f"gantt.{partition}", conf.service_group.timeout)

    @property
    def session_timeout(self) -> float:
        """Seconds after which the coordination service removes a silent member."""
        return self.timeout / 2

    @property
    def interval(self) -> float:
        return self.timeout / 8

    @property
    def grace(self) -> float:
        """Seconds that a member may be missing, for example to rejoin, before it counts as dead."""
        return self.timeout / 4


class Coordinator:
    """Client of the coordination service, for one member. Not thread-safe. Calls raise Unavailable."""

    def __init__(self, group: CoordinationGroup, member: str) -> None:
        # Importing tooz in a worker thread breaks `Thread.join`: eventlet imports a copy of threading.
        self._tooz: Any = importlib.import_module("tooz.coordination")
        self._group = group
        self._member = member
        self._driver: Any = None

    def renew_membership(self) -> None:
        """Send a heartbeat, and join the group if necessary; valid for one session timeout."""
        name = self._group.name.encode()

        def act(driver: Any) -> None:
            if not self._has_persistent_session(driver):
                driver.heartbeat()
            try:
                driver.join_group(name).get(timeout=ANSWER_SECONDS)
            except self._tooz.MemberAlreadyExist:
                pass
            except self._tooz.GroupNotCreated:
                self._create(driver)
                driver.join_group(name).get(timeout=ANSWER_SECONDS)

        self._call_driver(act)

    def members(self) -> frozenset[str]:
        """Return the group's members; raises Unavailable also for a missing group."""
        name = self._group.name.encode()
        member_ids = self._call_driver(lambda driver: driver.get_members(name).get(timeout=ANSWER_SECONDS))
        return frozenset(member_id.decode() for member_id in member_ids)

    def close(self) -> None:
        driver, self._driver = self._driver, None
        if driver is not None:
            with contextlib.suppress(errors.Unavailable):  # the session expires by itself
                self._call_bounded(driver.stop)

    def _call_driver(self, act: Callable[[Any], Result]) -> Result:
        drivers: list[Any] = [] if self._driver is None else [self._driver]

        def open_and_act() -> Result:
            if not drivers:
                drivers.append(self._open())
            return act(drivers[0])

        try:
            answer = self._call_bounded(open_and_act)
        except errors.Unavailable:
            # A driver with a persistent session reconnects by itself. Drop others, which may retry for a minute.
            self._driver = drivers[0] if drivers and self._has_persistent_session(drivers[0]) else None
            raise
        self._driver = drivers[0]
        return answer

    def _call_bounded(self, act: Callable[[], Result]) -> Result:
        """Run ``act`` in a thread with a time limit; the libraries have none."""
        results: list[Result] = []
        failures: list[Exception] = []

        def run() -> None:
            try:
                results.append(act())
            except Exception as error:
                # tooz does not wrap all errors of its libraries.
                failures.append(error)

        thread = threading.Thread(target=run, name="coordination", daemon=True)
        thread.start()
        thread.join(ANSWER_SECONDS)
        if results:
            return results[0]
        error = failures[0] if failures else TimeoutError(f"no answer in {ANSWER_SECONDS:g} s")
        why = f"{type(error).__name__}: {str(error) or 'no details'}"
        raise errors.Unavailable(what=f"The service group {self._group.name}", why=why) from error

    def _open(self) -> Any:
        group = self._group
        options: dict[str, Any] = {
            "timeout": str(max(2, round(group.session_timeout))),
            "membership_timeout": group.session_timeout,
        }
        if group.url.partition(":")[0] in ("zookeeper", "kazoo"):
            # Without this the library backs off for up to a minute before it reconnects.
            options["connection_retry"] = {"max_tries": -1, "delay": 0.1, "max_delay": group.interval}
        driver = self._tooz.get_coordinator(group.url, self._member.encode(), **options)
        driver.start()
        return driver

    def _create(self, driver: Any) -> None:
        with contextlib.suppress(self._tooz.GroupAlreadyExist):
            driver.create_group(self._group.name.encode()).get(timeout=ANSWER_SECONDS)

    def _has_persistent_session(self, driver: Any) -> bool:
        is_persistent: bool = self._tooz.Characteristics.NON_TIMEOUT_BASED in driver.CHARACTERISTICS
        return is_persistent


class Membership(Periodic):
    """Thread that renews the memberships of ``services``; warns once while renewals fail."""

    def __init__(self, group: CoordinationGroup, services: Sequence[str]) -> None:
        self._coordinators = [Coordinator(group, name) for name in services]
        super().__init__(f"Renewal in service group {group.name}", self._renew, lambda: group.interval, self._leave)

    def _renew(self) -> None:
        for coordinator in self._coordinators:
            if not self.is_stopping:
                coordinator.renew_membership()

    def _leave(self) -> None:
        """Leave in parallel, because each member may take its full time limit during an outage."""
        with ThreadPoolExecutor(len(self._coordinators)) as pool:
            list(pool.map(Coordinator.close, self._coordinators))
