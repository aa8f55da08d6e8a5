# SPDX-License-Identifier: Apache-2.0
"""The PostgreSQL dialect."""

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

# Reads the clock after the lock was granted, not when the wait for it began.
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
SCHEMA_LOCK = 0x67616E7474  # "gantt" in ASCII, unlikely to be another program's lock key
IDLE_SECONDS = 5.0  # how long a session may be idle while it locks a partition
TRANSIENT = ("40001", "40P01")  # serialization failure, deadlock


class Postgresql(SqlDialect):
    """PostgreSQL dialect: a transaction locks its partition's row, so verbs of a partition run one at a time.

    With fsync and synchronous_commit on, a crash loses no acknowledged write; durability "always" turns the latter on.
    If either is off, a restarted server counts as another server, as does any server on another timeline (promoted
    standby, point-in-time restore).
    """

    def __init__(self, url: URL, durability: Durability, wait_seconds: float | None = None) -> None:
        if green.is_patched():
            # psycopg's default wait would block all green threads. It is chosen at psycopg's first import.
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
        """Return a psycopg connection outside the pool, for waiting."""
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
            # Let the server end a transaction of a hanging worker, which locks its partition.
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
    """Return a partition's notification channel, hashed because channel names are short."""
    return "gantt_" + hashlib.sha256(partition.encode()).hexdigest()[:32]
