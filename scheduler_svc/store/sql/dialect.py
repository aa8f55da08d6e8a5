# SPDX-License-Identifier: Apache-2.0
"""The interface for what differs between the databases."""

import abc
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Engine

from rpcapi import errors

CONNECT_SECONDS = 5
ANSWER_SECONDS = 10  # that one statement may take; a snapshot of a large partition needs the most
# A partition's verbs run one at a time: more connections would only wait in the database rather than here.
POOL: Mapping[str, Any] = {"pool_size": 4, "max_overflow": 4, "pool_timeout": ANSWER_SECONDS, "pool_use_lifo": True}


class SqlDialect(abc.ABC):
    """One kind of database, at one URL."""

    engine: Engine
    read_options: Mapping[str, Any]  # execution options of a read-only transaction with a consistent view

    @abc.abstractmethod
    def lock(self, connection: Connection, partition: str) -> tuple[Mapping[str, Any] | None, int]:
        """Lock the partition until the transaction ends; return its row, or None, and the server's clock in ms."""

    @abc.abstractmethod
    def identity(self, connection: Connection) -> str:
        """Return the server's identity, a string that changes where it may have forgotten acknowledged writes.

        Raises StoreUnavailable where it must not be written to.
        """

    @abc.abstractmethod
    def lock_schema(self, connection: Connection) -> None:
        """Lock the schema until the transaction ends, so that one process creates the tables."""

    @abc.abstractmethod
    def announce(self, connection: Connection, partition: str) -> None:
        """Notify those that wait for the partition's log, when the transaction is committed."""

    @abc.abstractmethod
    def await_news(self, partition: str, seconds: float, pause: float) -> None:
        """Return when the log may have grown, or ``seconds`` have passed; polling dialects wait ``pause``."""

    @abc.abstractmethod
    def listen(self, partition: str) -> None:
        """Subscribe to the notifications of ``announce``; raises StoreUnavailable."""

    @abc.abstractmethod
    def is_transient(self, error: BaseException) -> bool:
        """Return whether an error is a conflict with other transactions, so that a retry may succeed at once."""

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def unavailable(error: BaseException) -> errors.StoreUnavailable:
    """Return the StoreUnavailable for a database error: its first line, without the statement and its values."""
    cause = getattr(error, "orig", None) or error
    return errors.StoreUnavailable(why=f"{type(cause).__name__}: {str(cause).strip().partition(chr(10))[0]}")
