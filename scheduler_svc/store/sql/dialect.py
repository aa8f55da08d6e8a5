# SPDX-License-Identifier: Apache-2.0
"""Interface of the database dialects."""

import abc
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Engine

from rpcapi import errors

CONNECT_SECONDS = 5
ANSWER_SECONDS = 10  # longest statement; a snapshot of a large partition takes longest
# A partition's verbs run one at a time, so more connections would only wait in the database.
POOL: Mapping[str, Any] = {"pool_size": 4, "max_overflow": 4, "pool_timeout": ANSWER_SECONDS, "pool_use_lifo": True}


class SqlDialect(abc.ABC):
    engine: Engine
    read_options: Mapping[str, Any]  # execution options of a consistent read-only transaction

    @abc.abstractmethod
    def lock(self, connection: Connection, partition: str) -> tuple[Mapping[str, Any] | None, int]:
        """Lock the partition for the transaction; return its row, if any, and the server's clock in ms."""

    @abc.abstractmethod
    def identity(self, connection: Connection) -> str:
        """Return the server's identity; it changes if the server may have lost acknowledged writes.

        Raises StoreUnavailable for a server that must not be written to.
        """

    def lock_schema(self, connection: Connection) -> None:  # noqa: B027 - nothing if the transaction has locked it
        """Lock the schema for the transaction, so that only one process creates tables."""

    def announce(self, connection: Connection, partition: str) -> None:  # noqa: B027 - nothing if followers poll
        """Notify waiting followers of the partition's log when the transaction commits."""

    @abc.abstractmethod
    def await_news(self, partition: str, seconds: float, pause: float) -> None:
        """Wait until the log may have grown, at most ``seconds``; polling dialects wait ``pause``."""

    def listen(self, partition: str) -> None:  # noqa: B027 - nothing if followers poll
        """Subscribe to the notifications of ``announce``. Raises StoreUnavailable."""

    @abc.abstractmethod
    def is_transient(self, error: BaseException) -> bool:
        """Return whether an error is a conflict between transactions, so that an immediate retry may succeed."""

    def close(self) -> None:
        self.engine.dispose()


def unavailable(error: BaseException) -> errors.StoreUnavailable:
    """Return a StoreUnavailable with the error's first line only, because the rest may contain values."""
    cause = getattr(error, "orig", None) or error
    return errors.StoreUnavailable(why=f"{type(cause).__name__}: {str(cause).strip().partition(chr(10))[0]}")
