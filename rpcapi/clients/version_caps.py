# SPDX-License-Identifier: Apache-2.0
"""Version caps of clients: the numbers in [upgrade_levels], or ``auto``, which follows the oldest living service."""

import logging
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg

from rpcapi import context, errors
from rpcapi.conf.upgrade_levels import AUTO
from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer

LOG = logging.getLogger(__name__)

REFRESH_S = 30.0
RETRY_S = 2.0  # after a failure
ANSWER_S = 5.0
Versions = Mapping[str, str | None]


class OldestVersions:
    """The oldest version of each topic's living services, refreshed from time to time. Thread-safe.

    ``fetch`` returns them as SchedulerAPI.get_oldest_versions, within the seconds that it is called with. All callers
    wait while it is called for the first time, later they get the last answer while a thread refreshes it. Until there
    is an answer, all versions are unknown.
    """

    def __init__(self, fetch: Callable[[float], Versions], clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch = fetch
        self._clock = clock
        self._lock = threading.Lock()
        self._versions: Versions | None = None
        self._due = clock()
        self._is_failing = False
        self._is_first = True
        self._first_ended = threading.Event()

    def cap(self, topic: str, oldest: str, wait_s: float = ANSWER_S) -> str | None:
        """Return the version that every living service of ``topic`` supports; None if none is alive.

        ``oldest`` stands for a service that reports no version, and for all services while nothing is known. It waits
        at most ``wait_s`` and ANSWER_S seconds while the versions are fetched for the first time.
        """
        versions = self._current(min(wait_s, ANSWER_S))
        if versions is None:
            return oldest
        return (versions[topic] or oldest) if topic in versions else None

    def reset(self) -> None:
        """Let the next caller refresh the versions."""
        self._due = self._clock()

    def refresh(self, wait_s: float = ANSWER_S) -> None:
        """Fetch the versions; without an answer in time the last ones stay."""
        with self._lock:
            self._due = self._clock() + REFRESH_S
            try:
                self._versions = self._fetch(wait_s)
                self._is_failing = False
            except (errors.GanttError, messaging.MessagingException, OSError) as error:
                why = str(error).partition("\n")[0]
                (LOG.debug if self._is_failing else LOG.warning)("Versions of the services are not known: %s", why)
                self._is_failing = True
                self._due = self._clock() + RETRY_S

    def _current(self, wait_s: float) -> Versions | None:
        if self._clock() >= self._due:
            if self._is_first:
                self._is_first = False
                try:
                    self.refresh(wait_s)
                finally:
                    self._first_ended.set()
            elif not self._lock.locked():
                threading.Thread(target=self.refresh, name="versions", daemon=True).start()
        if not self._first_ended.is_set():
            self._first_ended.wait(wait_s)
        return self._versions


# Clients of one transport share what they know.
_KNOWN: "weakref.WeakKeyDictionary[Any, OldestVersions]" = weakref.WeakKeyDictionary()


def cap_of(conf: cfg.ConfigOpts, transport: Any, topic: str, oldest: str) -> Callable[[float], str | None]:
    """Return a function that returns the cap of a topic at present; None: all versions may be sent.

    Its argument is how many seconds it may wait.
    """

    def cap(wait_s: float) -> str | None:
        level: str | None = conf.upgrade_levels[topic]
        if level != AUTO:
            return level
        versions = _KNOWN.get(transport)
        if versions is None:
            versions = _KNOWN.setdefault(transport, OldestVersions(_fetcher(transport)))
        return versions.cap(topic, oldest, wait_s)

    return cap


def refresh_all() -> None:
    """Let all clients of this process find the oldest services again: the configuration was reloaded."""
    for oldest in list(_KNOWN.values()):
        oldest.reset()


def _fetcher(transport: Any) -> Callable[[float], Versions]:
    """Return a function that asks a scheduler."""
    client = bus.get_client(
        transport,
        messaging.Target(topic="scheduler", version="1.0"),
        serializer=GanttSerializer(),
    )

    def fetch(wait_s: float) -> Versions:
        prepared = client.prepare(version="1.7", timeout=wait_s)
        versions: Versions = prepared.call(context.new().with_timeout(wait_s), "get_oldest_versions")
        return versions

    return fetch
