# SPDX-License-Identifier: Apache-2.0
"""What differs between the databases."""

import abc
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Engine

from rpcapi import errors

CONNECT_SECONDS = 5
ANSWER_SECONDS = 10  # that one statement may take; a snapshot of a large partition needs the most
# A partition's verbs come one at a time: more connections would wait in the database rather than here.
POOL: Mapping[str, Any] = {"pool_size": 4, "max_overflow": 4, "pool_timeout": ANSWER_SECONDS, "pool_use_lifo": True}


class Dialect(abc.ABC):
    """One kind of database, at one URL."""

    engine: Engine
    looks: Mapping[str, Any]  # execution options with which a connection looks at one instant, and writes nothing

    @abc.abstractmethod
    def lock(self, connection: Connection, partition: str) -> tuple[Mapping[str, Any] | None, int]:
        """Hold the partition alone until the transaction ends; return its row, where it has one, and the time in ms."""

    @abc.abstractmethod
    def identity(self, connection: Connection) -> str:
        """Return who the server is: another text where it may have forgotten what was acknowledged.

        Raises StoreUnavailable where it must not be written to.
        """

    @abc.abstractmethod
    def lock_schema(self, connection: Connection) -> None:
        """Hold the tables alone until the transaction ends, so that one of many makes them."""

    @abc.abstractmethod
    def announce(self, connection: Connection, partition: str) -> None:
        """Wake who waits for the partition's log, when the transaction is done."""

    @abc.abstractmethod
    def await_news(self, partition: str, seconds: float, pause: float) -> None:
        """Return when the log may have grown, or ``seconds`` have passed; one that polls looks after ``pause``."""

    @abc.abstractmethod
    def listen(self, partition: str) -> None:
        """Miss no news from here on; raises StoreUnavailable."""

    @abc.abstractmethod
    def is_passing(self, error: BaseException) -> bool:
        """Tell whether another try may well succeed at once: others were in the way, and nothing is broken."""

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


def unavailable(error: BaseException) -> errors.StoreUnavailable:
    """Return what to raise for a database's error: its own first line, without the statement and its values."""
    told = getattr(error, "orig", None) or error
    return errors.StoreUnavailable(why=f"{type(told).__name__}: {str(told).strip().partition(chr(10))[0]}")
