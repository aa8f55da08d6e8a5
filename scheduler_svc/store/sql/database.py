# SPDX-License-Identifier: Apache-2.0
"""Transactions on one partition: after the server was made sure of, and tried again where others were in the way."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import tenacity
from sqlalchemy import Connection, exc, select

from rpcapi import errors
from scheduler_svc.store.sql import schema
from scheduler_svc.store.sql.dialect import Dialect, unavailable
from scheduler_svc.store.sql.identity import Identity
from scheduler_svc.store.sql.tables import PARTITIONS

T = TypeVar("T")
Meta = Mapping[str, Any]  # a partition's row

PATIENCE_SECONDS = 5.0  # that a verb is tried again while others are in the way
TRIES = 3  # of a verb that got no answer


class Unsure(Exception):
    """Raised when the partition is not as it was last seen: it is met again."""


class Database:
    """One partition in one database. Every verb is idempotent, so that one which got no answer is sent again."""

    def __init__(self, dialect: Dialect, identity: Identity) -> None:
        self.dialect = dialect
        self._identity = identity

    def act(self, work: Callable[[Connection, Meta, int], T]) -> T:
        """Return what ``work`` does alone on the partition, given its row and the time; all of it is kept, or nothing.

        Raises StoreUnavailable.
        """

        def once() -> T:
            seen = self._identity.seen
            with self.dialect.engine.connect() as connection:
                self._meet(connection)
                with connection.begin():
                    meta, now = self.dialect.lock(connection, self._identity.partition)
                    return work(connection, _sure(connection, meta, seen), now)

        return self.each_try(once)

    def look(self, work: Callable[[Connection, Meta], T]) -> T:
        """Return what ``work`` reads of one instant of the partition; raises StoreUnavailable."""

        def once() -> T:
            seen = self._identity.seen
            with self.dialect.engine.connect() as connection:
                self._meet(connection)
                connection.execution_options(**self.dialect.looks)
                with connection.begin():
                    wanted = select(PARTITIONS).where(PARTITIONS.c.name == self._identity.partition)
                    found = connection.execute(wanted).mappings().one_or_none()
                    return work(connection, _sure(connection, None if found is None else dict(found), seen))

        return self.each_try(once)

    def make_sure(self) -> None:
        """Compare who the server is with who it was; raises StoreUnavailable."""

        def once() -> None:
            with self.dialect.engine.connect() as connection:
                connection.info.pop("met", None)
                self._meet(connection)

        self.each_try(once)

    def each_try(self, once: Callable[[], T]) -> T:
        """Return what ``once`` does, tried again while that can help; raises StoreUnavailable."""
        retrying = tenacity.Retrying(
            stop=self._is_enough,
            wait=tenacity.wait_random_exponential(multiplier=0.005, max=0.1),
            retry=tenacity.retry_if_exception_type(
                (Unsure, exc.OperationalError, exc.InternalError, exc.InterfaceError)
            ),
            reraise=True,
        )
        try:
            return retrying(once)
        except Unsure as error:
            raise errors.StoreUnavailable(why="the partition changes each time that it is looked at") from error
        except exc.SQLAlchemyError as error:
            raise unavailable(error) from error

    def _is_enough(self, state: tenacity.RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        if (state.seconds_since_start or 0.0) >= PATIENCE_SECONDS:
            return True
        return state.attempt_number >= TRIES and not (error and self.dialect.is_passing(error))

    def _meet(self, connection: Connection) -> None:
        if "met" in connection.info:
            return
        schema.ensure(self.dialect, connection)
        self._identity.check(self.dialect, connection)
        connection.info["met"] = True


def _sure(connection: Connection, meta: Meta | None, seen: tuple[int, int]) -> Meta:
    """Return the row; raise Unsure where it is gone, or was seen further than it is."""
    if meta is None or meta["epoch"] < seen[0] or meta["position"] < seen[1]:
        connection.info.pop("met", None)
        raise Unsure
    return meta
