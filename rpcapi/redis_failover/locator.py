# SPDX-License-Identifier: Apache-2.0
"""Lookup of the Redis primary at sentinels or cluster nodes."""

import abc
import logging
from collections.abc import Sequence
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.retry import Retry

from rpcapi.conf.redis_url import RedisNodes
from rpcapi.redis_failover import tls

LOG = logging.getLogger(__name__)

LOOKUP_SECONDS = 1.0  # time limit of a connect, and of a response

HostPort = tuple[str, int]


class PrimaryLocator(abc.ABC):
    def __init__(self, nodes: RedisNodes, subject: str) -> None:
        self._subject = subject
        self._order: Sequence[tuple[str, str]] = tuple(zip(nodes.names, nodes.seed_urls, strict=True))
        self._last_address: HostPort | None = None

    def primary(self) -> HostPort:
        address = self._locate()
        if self._last_address not in (None, address):
            LOG.warning("The primary of %s is now %s:%d", self._subject, *address)
        self._last_address = address
        return address

    @abc.abstractmethod
    def _locate(self) -> HostPort:
        """Query the primary's address; raises redis.ConnectionError if nobody knows it."""

    def _unknown(self, failures: dict[str, redis.RedisError]) -> redis.ConnectionError:
        reasons = "; ".join(f"{name}: {error}" for name, error in failures.items())
        return redis.ConnectionError(f"the primary of {self._subject} cannot be located ({reasons})")


class SentinelLocator(PrimaryLocator):
    """Locator by the newest configuration of a majority of sentinels, or of all that answer."""

    def __init__(self, nodes: RedisNodes) -> None:
        super().__init__(nodes, f"service {nodes.service!r}")
        self._service = nodes.service

    def _locate(self) -> HostPort:
        answers: dict[str, tuple[int, HostPort]] = {}
        failures: dict[str, redis.RedisError] = {}
        order = self._order
        for name, url in order:
            try:
                answers[name] = self._ask(url)
            except redis.RedisError as error:
                failures[name] = error
            if 2 * len(answers) > len(order):
                break
        # From now on query silent sentinels last, because they cost time.
        self._order = tuple(sorted(order, key=lambda sentinel: sentinel[0] in failures))
        if not answers:
            raise self._unknown(failures)
        return max(answers.values())[1]

    def _ask(self, url: str) -> tuple[int, HostPort]:
        with _client(url) as client:
            flat: list[str] = client.execute_command("SENTINEL", "MASTER", self._service)
        fields = dict(zip(flat[::2], flat[1::2], strict=True))
        return int(fields["config-epoch"]), (fields["ip"], int(fields["port"]))


class SlotOwnerLocator(PrimaryLocator):
    """Locator that asks a different cluster node each time: an isolated node may name an old owner of the slot."""

    def __init__(self, nodes: RedisNodes, key: str) -> None:
        self._slot = key_slot(key.encode())
        super().__init__(nodes, f"slot {self._slot}")

    def _locate(self) -> HostPort:
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
            failures[name] = redis.RedisError("no owner known")
        raise self._unknown(failures)

    def _ask(self, url: str) -> HostPort | None:
        with _client(url) as client:
            ranges: list[Any] = client.execute_command("CLUSTER", "SLOTS")
            node_host = client.connection_pool.connection_kwargs["host"]
        for first, last, (host, port, *_), *_replicas in ranges:
            if first <= self._slot <= last:
                return host or node_host, int(port)  # the queried node may omit its own host
        return None


def make_locator(nodes: RedisNodes, key: str) -> PrimaryLocator:
    return SentinelLocator(nodes) if nodes.kind == "sentinel" else SlotOwnerLocator(nodes, key)


def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        **tls.connection_options(url),
        decode_responses=True,
        protocol=2,
        socket_connect_timeout=LOOKUP_SECONDS,
        socket_timeout=LOOKUP_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
