# SPDX-License-Identifier: Apache-2.0
"""Interface of the database dialects, which differ in locks, identities, clocks and notifications."""

import abc
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Engine

from rpcapi import errors

CONNECT_SECONDS = 5
ANSWER_SECONDS = 10  # timeout of a statement; a large partition's snapshot takes longest
# A partition's verbs run one at a time, so more connections would only wait in the database.
POOL: Mapping[str, Any] = {"pool_size": 4, "max_overflow": 4, "pool_timeout": ANSWER_SECONDS, "pool_use_lifo": True}


class SqlDialect(abc.ABC):
    engine: Engine
    read_options: Mapping[str, Any]  # execution options of a consistent read-only transaction

    @abc.abstractmethod
    def lock(self, connection: Connection, partition: str) -> tuple[Mapping[str, Any] | None, int]:
        """Lock the partition for the transaction; return its row or None, and the server's clock in ms."""

    @abc.abstractmethod
    def identity(self, connection: Connection) -> str:
        """Return the server's identity, which changes if the server may have lost acknowledged writes.

        Raises StoreUnavailable for a server that must not be written to.
        """

    def lock_schema(self, connection: Connection) -> None:  # noqa: B027 - SQLite's transactions lock the schema
        """Lock the schema for the transaction, so that only one process creates tables."""

    def announce(self, connection: Connection, partition: str) -> None:  # noqa: B027 - polling dialects do nothing
        """Notify followers of the partition's log, once the transaction commits."""

    @abc.abstractmethod
    def await_news(self, partition: str, seconds: float, pause: float) -> None:
        """Wait up to ``seconds`` until the log may have grown; polling dialects wait ``pause`` seconds instead."""

    def listen(self, partition: str) -> None:  # noqa: B027 - polling dialects do nothing
        """Subscribe to the notifications of ``announce``. Raises StoreUnavailable."""

    @abc.abstractmethod
    def is_transient(self, error: BaseException) -> bool:
        """Return whether an error is a conflict between transactions, which an immediate retry may resolve."""

    def close(self) -> None:
        self.engine.dispose()


def unavailable(error: BaseException) -> errors.StoreUnavailable:
    """Return a StoreUnavailable with only the first line of the error, because further lines may contain values."""
    cause = getattr(error, "orig", None) or error
    return errors.StoreUnavailable(why=f"{type(cause).__name__}: {str(cause).strip().partition(chr(10))[0]}")
