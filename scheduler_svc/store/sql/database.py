# SPDX-License-Identifier: Apache-2.0
"""Transactions on one partition, with server checks and retries after conflicts."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import tenacity
from sqlalchemy import Connection, RootTransaction, exc, select

from rpcapi import errors
from scheduler_svc.store.certainty import RepeatCounter
from scheduler_svc.store.sql import schema
from scheduler_svc.store.sql.dialect import SqlDialect, unavailable
from scheduler_svc.store.sql.identity import SqlIdentity
from scheduler_svc.store.sql.tables import PARTITIONS

T = TypeVar("T")
PartitionRow = Mapping[str, Any]

RETRY_SECONDS = 5.0  # longest time for which a verb is retried
TRIES = 3  # tries of a verb whose failure is not a conflict between transactions


class PartitionChanged(Exception):
    """Raised if the partition's row is missing or older than before. The retry checks the server again."""


class SqlDatabase:
    """Transactions on one partition. Verbs without an answer are run again, because they are idempotent."""

    def __init__(
        self,
        dialect: SqlDialect,
        identity: SqlIdentity,
        repeats: RepeatCounter | None = None,
        wait_seconds: float | None = None,
    ) -> None:
        """Connect on first use.

        ``repeats`` counts commits without an answer. ``wait_seconds`` limits a verb's wait, including retries.
        """
        self.dialect = dialect
        self._identity = identity
        self._wait_seconds = wait_seconds
        self._repeats = repeats or RepeatCounter()

    def transact(self, work: Callable[[Connection, PartitionRow, int], T]) -> T:
        """Run ``work(connection, partition row, server's clock in ms)`` with the partition locked; return its result.

        Raises StoreUnavailable.
        """

        def attempt() -> T:
            observed = self._identity.high_water_mark
            with self.dialect.engine.connect() as connection:
                self._check_server(connection)
                with connection.begin() as transaction:
                    meta, now = self.dialect.lock(connection, self._identity.partition)
                    answer = work(connection, _check_row(connection, meta, observed), now)
                    self._commit(transaction)
                    return answer

        return self.run_with_retries(attempt)

    def _commit(self, transaction: RootTransaction) -> None:
        """Commit the transaction. A commit whose outcome is unknown counts as a repeat."""
        try:
            transaction.commit()
        except exc.DBAPIError as error:
            if not self.dialect.is_transient(error):
                self._repeats.add()
            raise

    def read(self, work: Callable[[Connection, PartitionRow], T]) -> T:
        """Run ``work`` in a read-only transaction; return its result. Raises StoreUnavailable."""

        def attempt() -> T:
            observed = self._identity.high_water_mark
            with self.dialect.engine.connect() as connection:
                self._check_server(connection)
                connection.execution_options(**self.dialect.read_options)
                with connection.begin():
                    query = select(PARTITIONS).where(PARTITIONS.c.name == self._identity.partition)
                    row = connection.execute(query).mappings().one_or_none()
                    return work(connection, _check_row(connection, None if row is None else dict(row), observed))

        return self.run_with_retries(attempt)

    def check_identity(self) -> None:
        def attempt() -> None:
            with self.dialect.engine.connect() as connection:
                connection.info.pop("met", None)
                self._check_server(connection)

        self.run_with_retries(attempt)

    def run_with_retries(self, attempt: Callable[[], T]) -> T:
        retrying = tenacity.Retrying(
            stop=self._is_exhausted,
            wait=tenacity.wait_random_exponential(multiplier=0.005, max=0.1),
            retry=tenacity.retry_if_exception_type(
                (PartitionChanged, exc.OperationalError, exc.InternalError, exc.InterfaceError)
            ),
            reraise=True,
        )
        try:
            return retrying(attempt)
        except PartitionChanged as error:
            raise errors.StoreUnavailable(why="the partition's row is missing or outdated after each check") from error
        except exc.SQLAlchemyError as error:
            raise unavailable(error) from error

    def _is_exhausted(self, state: tenacity.RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        if (state.seconds_since_start or 0.0) >= (self._wait_seconds or RETRY_SECONDS):
            return True
        if self._wait_seconds is not None:
            return False
        return state.attempt_number >= TRIES and not (error and self.dialect.is_transient(error))

    def _check_server(self, connection: Connection) -> None:
        if "met" in connection.info:
            return
        schema.ensure(self.dialect, connection)
        self._identity.check(self.dialect, connection)
        connection.info["met"] = True


def _check_row(connection: Connection, meta: PartitionRow | None, observed: tuple[int, int]) -> PartitionRow:
    if meta is None or meta["epoch"] < observed[0] or meta["position"] < observed[1]:
        connection.info.pop("met", None)
        raise PartitionChanged
    return meta
