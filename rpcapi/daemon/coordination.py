# SPDX-License-Identifier: Apache-2.0
"""A group of services at a coordination service, by tooz: being in it, and seeing who is. All waits are bounded."""

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import service_group

Answer = TypeVar("Answer")

ANSWER_SECONDS = 5.0  # that anything asked of a coordination service may take


@dataclass(frozen=True, slots=True)
class Group:
    """A group of services, and the seconds after which a dead one is known to be dead.

    Worst case: its session lasts a half, a look is an eighth late, and it must be missing for a quarter.
    """

    url: str
    name: str
    timeout: float

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, partition: str) -> "Group | None":
        """Return the group of a partition's services, None where the store tells who lives."""
        if conf.service_group.driver != service_group.TOOZ:
            return None
        return cls(conf.service_group.backend_url, f"gantt.{partition}", conf.service_group.timeout)

    @property
    def session(self) -> float:
        """Seconds that the coordination service keeps a silent member."""
        return self.timeout / 2

    @property
    def interval(self) -> float:
        """Seconds between a member's signs of life, and between looks at the group."""
        return self.timeout / 8

    @property
    def grace(self) -> float:
        """Seconds that a member may be missing: it may have to join again."""
        return self.timeout / 4


class Coordinator:
    """One identity at the coordination service; one thread at a time. Each call raises Unavailable where it is away."""

    def __init__(self, group: Group, member: str) -> None:
        self._group = group
        self._member = member
        self._driver: Any = None

    def keep(self) -> None:
        """Be a member, from now on for a session: join where that is not so, and give a sign of life."""
        name = self._group.name.encode()

        def act(driver: Any) -> None:
            from tooz import coordination  # noqa: PLC0415 - an extra, needed where it is configured

            if not _keeps_its_session(driver):
                driver.heartbeat()
            try:
                driver.join_group(name).get(timeout=ANSWER_SECONDS)
            except coordination.MemberAlreadyExist:
                pass
            except coordination.GroupNotCreated:
                self._create(driver)
                driver.join_group(name).get(timeout=ANSWER_SECONDS)

        self._do(act)

    def members(self) -> frozenset[str]:
        """Return who is in the group; raises Unavailable too where there is no group: it was never made, or lost."""
        name = self._group.name.encode()
        found = self._do(lambda driver: driver.get_members(name).get(timeout=ANSWER_SECONDS))
        return frozenset(each.decode() for each in found)

    def close(self) -> None:
        """Leave at once, if the coordination service answers, and let go of the connection."""
        driver, self._driver = self._driver, None
        if driver is not None:
            with contextlib.suppress(errors.Unavailable):  # its session ends by itself
                self._within(driver.stop)

    def _do(self, act: Callable[[Any], Answer]) -> Answer:
        opened: list[Any] = [] if self._driver is None else [self._driver]

        def whole() -> Answer:
            if not opened:
                opened.append(self._open())
            return act(opened[0])

        try:
            answer = self._within(whole)
        except errors.Unavailable:
            # One with a session finds its way back to it. Another is let go: it may be trying again for a minute.
            self._driver = opened[0] if opened and _keeps_its_session(opened[0]) else None
            raise
        self._driver = opened[0]
        return answer

    def _within(self, act: Callable[[], Answer]) -> Answer:
        """Return what ``act`` does, in a thread of its own: the libraries wait, and try again, as long as they like."""
        outcome: list[Answer] = []
        failure: list[Exception] = []

        def run() -> None:
            try:
                outcome.append(act())
            except Exception as error:
                # Besides its own errors tooz lets those of the library behind it through, whichever that is.
                failure.append(error)

        thread = threading.Thread(target=run, name="coordination", daemon=True)
        thread.start()
        thread.join(ANSWER_SECONDS)
        if outcome:
            return outcome[0]
        error = failure[0] if failure else TimeoutError(f"no answer in {ANSWER_SECONDS:g} s")
        why = f"{type(error).__name__}: {str(error) or 'no more is known'}"
        raise errors.Unavailable(what=f"The service group {self._group.name}", why=why) from error

    def _open(self) -> Any:
        from tooz import coordination  # noqa: PLC0415 - an extra, needed where it is configured

        group = self._group
        options: dict[str, Any] = {"timeout": str(max(2, round(group.session))), "membership_timeout": group.session}
        if group.url.partition(":")[0] in ("zookeeper", "kazoo"):
            # Its library would wait ever longer, up to a minute, before it looks whether the service is back.
            options["connection_retry"] = {"max_tries": -1, "delay": 0.1, "max_delay": group.interval}
        driver = coordination.get_coordinator(group.url, self._member.encode(), **options)
        driver.start()
        return driver

    def _create(self, driver: Any) -> None:
        from tooz import coordination  # noqa: PLC0415 - an extra, needed where it is configured

        with contextlib.suppress(coordination.GroupAlreadyExist):  # another member was first
            driver.create_group(self._group.name.encode()).get(timeout=ANSWER_SECONDS)


def _keeps_its_session(driver: Any) -> bool:
    from tooz import coordination  # noqa: PLC0415 - an extra, needed where it is configured

    return coordination.Characteristics.NON_TIMEOUT_BASED in driver.CHARACTERISTICS
