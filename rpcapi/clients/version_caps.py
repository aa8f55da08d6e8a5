# SPDX-License-Identifier: Apache-2.0
"""Version caps of clients: fixed by [upgrade_levels], or ``auto``, which follows the oldest living service."""

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
RETRY_S = 2.0  # after a failed refresh
ANSWER_S = 5.0
Versions = Mapping[str, str | None]


class OldestVersions:
    """Thread-safe cache of the oldest version of each topic's living services; only the first fetch blocks."""

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
        """Return the version that all living services support, ``oldest`` if unknown, or None without services."""
        versions = self._current(min(wait_s, ANSWER_S))
        if versions is None:
            return oldest
        return (versions[topic] or oldest) if topic in versions else None

    def reset(self) -> None:
        self._due = self._clock()

    def refresh(self, wait_s: float = ANSWER_S) -> None:
        """Fetch the versions, or keep the last ones if the call fails."""
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


# One cache per transport, shared by its clients.
_KNOWN: "weakref.WeakKeyDictionary[Any, OldestVersions]" = weakref.WeakKeyDictionary()


def cap_of(conf: cfg.ConfigOpts, transport: Any, topic: str, oldest: str) -> Callable[[float], str | None]:
    """Return a function of a timeout in seconds that returns the topic's current cap; None means no cap."""

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
    """Let the caches of all clients refresh at their next use."""
    for oldest in list(_KNOWN.values()):
        oldest.reset()


def _fetcher(transport: Any) -> Callable[[float], Versions]:
    client = bus.get_client(transport, messaging.Target(topic="scheduler", version="1.0"), serializer=GanttSerializer())

    def fetch(wait_s: float) -> Versions:
        prepared = client.prepare(version="1.0", timeout=wait_s)
        versions: Versions = prepared.call(context.new().with_timeout(wait_s), "get_oldest_versions")
        return versions

    return fetch
