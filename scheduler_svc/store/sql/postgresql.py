# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL dialect."""

import hashlib
import os
from collections.abc import Mapping
from threading import Lock
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event, exc, text

from rpcapi import errors
from rpcapi.messaging import green
from scheduler_svc.store.records import Durability
from scheduler_svc.store.sql.dialect import ANSWER_SECONDS, CONNECT_SECONDS, POOL, SqlDialect, unavailable

# Locks the partition's row, and only then reads the clock, so that a wait for the lock does not make the time outdated.
LOCK_ROW = text(
    "WITH held AS MATERIALIZED (SELECT * FROM partitions WHERE name = :name FOR UPDATE) "
    "SELECT held.*, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now FROM (SELECT 1) AS one "
    "LEFT JOIN held ON true"
)
SELECT_IDENTITY = text(
    "SELECT pg_is_in_recovery() AS standby, (SELECT system_identifier FROM pg_control_system()) AS system, "
    "CASE WHEN NOT pg_is_in_recovery() THEN substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END AS timeline, "
    "(SELECT oid FROM pg_database WHERE datname = current_database()) AS database, "
    "'partitions'::regclass::oid AS home, extract(epoch FROM pg_postmaster_start_time())::text AS started, "
    "current_setting('synchronous_commit') <> 'off' AND current_setting('fsync') = 'on' AS keeps"
)
SCHEMA_LOCK = 0x67616E7474  # advisory lock key: "gantt" in ASCII, which other programs are unlikely to use
IDLE_SECONDS = 5.0  # longest time that a session may be idle within a transaction, which locks its partition
TRANSIENT = ("40001", "40P01")  # SQLSTATE of a serialization failure and of a deadlock


class Postgresql(SqlDialect):
    """PostgreSQL dialect. A transaction locks its partition's row, so that a partition's verbs run one at a time.

    With fsync and synchronous_commit on, a crash loses no acknowledged write; durability "always" turns on
    synchronous_commit. If either is off, each restart gives the server a new identity, because it may have lost writes.
    So does each new timeline (promoted standby, point-in-time restore).
    """

    def __init__(self, url: URL, durability: Durability, wait_seconds: float | None = None) -> None:
        if green.is_patched():
            # psycopg's default wait would block all green threads. psycopg reads this variable at its first import.
            os.environ.setdefault("PSYCOPG_WAIT_FUNC", "wait_select")
        keepalive = {"keepalives_idle": CONNECT_SECONDS, "keepalives_interval": 2, "keepalives_count": 3}
        answer_seconds = wait_seconds or ANSWER_SECONDS
        arguments = {"connect_timeout": CONNECT_SECONDS, "application_name": "gantt-scheduler", **keepalive}
        arguments["tcp_user_timeout"] = round(answer_seconds * 1000)
        pool = {**POOL, "pool_timeout": answer_seconds}
        try:
            self.engine = create_engine(url.set(drivername="postgresql+psycopg"), connect_args=arguments, **pool)
        except exc.ArgumentError as error:
            raise errors.BadConfiguration(why=f"[store] url is not a valid PostgreSQL URL: {error}") from error
        self.read_options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        self._durability = durability
        self._wait_seconds = wait_seconds
        self._lock = Lock()
        self._listener: Any = None
        event.listen(self.engine, "do_connect", _connect)
        event.listen(self.engine, "connect", self._prepare)

    def lock(self, connection: Connection, partition: str) -> tuple[Mapping[str, Any] | None, int]:
        row = connection.execute(LOCK_ROW, {"name": partition}).mappings().one()
        return (dict(row) if row["name"] is not None else None), int(row["now"])

    def identity(self, connection: Connection) -> str:
        server = connection.execute(SELECT_IDENTITY).mappings().one()
        if server["standby"]:
            raise errors.StoreUnavailable(why="the server is a standby; [store] url must lead to the primary")
        started = "any" if server["keeps"] else server["started"]
        return (
            f"{server['system']} timeline {server['timeline']} in {server['database']}/{server['home']} start {started}"
        )

    def lock_schema(self, connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": SCHEMA_LOCK})

    def announce(self, connection: Connection, partition: str) -> None:
        connection.execute(text("SELECT pg_notify(:channel, '')"), {"channel": _channel(partition)})

    def listen(self, partition: str) -> None:
        with self._lock:
            if self._listener is None:
                self._listener = self._open_listener(partition)

    def await_news(self, partition: str, seconds: float, pause: float) -> None:
        listener = self._listener
        if listener is None:
            return
        broken: Any = self.engine.dialect.loaded_dbapi.Error
        try:
            for _notification in listener.notifies(timeout=seconds, stop_after=1):
                return
        except broken as error:
            self._close_listener()
            raise unavailable(error) from error

    def is_transient(self, error: BaseException) -> bool:
        return isinstance(error, exc.DBAPIError) and getattr(error.orig, "sqlstate", None) in TRANSIENT

    def close(self) -> None:
        self._close_listener()
        super().close()

    def _open_listener(self, partition: str) -> Any:
        """Return a psycopg connection, outside the pool, that listens to the partition's notifications."""
        connection = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            connection.exec_driver_sql(f'LISTEN "{_channel(partition)}"')
            listener = connection.connection.driver_connection
            connection.detach()
        except BaseException:
            connection.close()
            raise
        return listener

    def _close_listener(self) -> None:
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    def _prepare(self, fresh: Any, _record: Any) -> None:
        fresh.silence_seconds = self._wait_seconds
        settings: dict[str, int | str] = {
            "statement_timeout": round((self._wait_seconds or ANSWER_SECONDS) * 1000),
            # The server ends the transaction of a hanging worker, which would lock its partition for good.
            "idle_in_transaction_session_timeout": round(IDLE_SECONDS * 1000),
        }
        if self._durability == "always":
            settings["synchronous_commit"] = "on"
        autocommit, fresh.autocommit = fresh.autocommit, True
        calls = ", ".join("set_config(%s, %s, false)" for _ in settings)
        fresh.execute(f"SELECT {calls}", [str(value) for pair in settings.items() for value in pair])
        fresh.autocommit = autocommit


def _connect(_dialect: Any, _record: Any, arguments: Any, options: Any) -> Any:
    from scheduler_svc.store.sql.timeouts import TimeoutConnection  # noqa: PLC0415 - SQLite needs no psycopg installed

    return TimeoutConnection.connect(*arguments, **options)


def _channel(partition: str) -> str:
    """Return the partition's notification channel. Hashed, because PostgreSQL limits the length of channel names."""
    return "gantt_" + hashlib.sha256(partition.encode()).hexdigest()[:32]
