# SPDX-License-Identifier: Apache-2.0
"""Where the primary is now: asked of sentinels, or of a cluster's nodes, each time that a connection is made.

No answer is used twice: an address that was right is what a failover changes.
"""

import abc
import logging
from collections.abc import Sequence
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.retry import Retry

from rpcapi.conf.redis_nodes import Nodes

LOG = logging.getLogger(__name__)

LOOKUP_SECONDS = 1.0  # to connect to one that is asked, and again for its answer

Address = tuple[str, int]


class Whereabouts(abc.ABC):
    """Knows whom to ask. May be shared by threads."""

    def __init__(self, nodes: Nodes, what: str) -> None:
        self._what = what
        self._order: Sequence[tuple[str, str]] = tuple(zip(nodes.names, nodes.asked, strict=True))
        self._told: Address | None = None

    def primary(self) -> Address:
        """Return host and port; raises redis.ConnectionError when nobody can tell."""
        found = self._look_up()
        if self._told not in (None, found):
            LOG.warning("The primary of %s is now %s:%d", self._what, *found)
        self._told = found
        return found

    @abc.abstractmethod
    def _look_up(self) -> Address:
        """Ask, and return host and port; raises redis.ConnectionError when nobody can tell."""

    def _unknown(self, failures: dict[str, redis.RedisError]) -> redis.ConnectionError:
        told = "; ".join(f"{name}: {error}" for name, error in failures.items())
        return redis.ConnectionError(f"nobody tells where the primary of {self._what} is ({told})")


class Sentinels(Whereabouts):
    """Believes the newest word of more than half of the sentinels, or of all that answer.

    One alone may have been away while the others failed over: it would lead back to the old primary. Still it is
    believed where the others are silent: without it nobody could be reached, and what keeps an old primary that is cut
    off from promising anything are its replicas (``replicas_acknowledge``), not the sentinels.
    """

    def __init__(self, nodes: Nodes) -> None:
        super().__init__(nodes, f"service {nodes.service!r}")
        self._service = nodes.service

    def _look_up(self) -> Address:
        heard: dict[str, tuple[int, Address]] = {}
        failures: dict[str, redis.RedisError] = {}
        order = self._order
        for name, url in order:
            try:
                heard[name] = self._ask(url)
            except redis.RedisError as error:
                failures[name] = error
            if 2 * len(heard) > len(order):
                break
        # Who was silent costs time: it is asked last from now on.
        self._order = tuple(sorted(order, key=lambda each: each[0] in failures))
        if not heard:
            raise self._unknown(failures)
        return max(heard.values())[1]

    def _ask(self, url: str) -> tuple[int, Address]:
        """Return the configuration's epoch and the primary's address, as one sentinel knows them."""
        with _client(url) as client:
            flat: list[str] = client.execute_command("SENTINEL", "MASTER", self._service)
        word = dict(zip(flat[::2], flat[1::2], strict=True))
        return int(word["config-epoch"]), (word["ip"], int(word["port"]))


class SlotOwner(Whereabouts):
    """Asks one node after the other who owns a key's slot, each time beginning with another one.

    A node that is cut off still names the owner that it knew. Its word shows as wrong when one connects, and the
    next question goes to its neighbour.
    """

    def __init__(self, nodes: Nodes, key: str) -> None:
        self._slot = key_slot(key.encode())
        super().__init__(nodes, f"slot {self._slot}")

    def _look_up(self) -> Address:
        failures: dict[str, redis.RedisError] = {}
        order = self._order
        self._order = (*order[1:], order[0])
        for name, url in order:
            try:
                owner = self._ask(url)
            except redis.RedisError as error:
                failures[name] = error
                continue
            if owner is not None:
                return owner
            failures[name] = redis.RedisError("it knows no owner")
        raise self._unknown(failures)

    def _ask(self, url: str) -> Address | None:
        with _client(url) as client:
            ranges: list[Any] = client.execute_command("CLUSTER", "SLOTS")
            asked = client.connection_pool.connection_kwargs["host"]
        for first, last, (host, port, *_), *_replicas in ranges:
            if first <= self._slot <= last:
                return host or asked, int(port)  # without a name it is the host that was asked
        return None


def find(nodes: Nodes, key: str) -> Whereabouts:
    """Return who tells where the primary of ``key`` is."""
    return Sentinels(nodes) if nodes.kind == "sentinel" else SlotOwner(nodes, key)


def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        decode_responses=True,
        protocol=2,
        socket_connect_timeout=LOOKUP_SECONDS,
        socket_timeout=LOOKUP_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
