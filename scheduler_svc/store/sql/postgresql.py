# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL: one server, or what has taken its place."""

import hashlib
import os
from collections.abc import Mapping
from threading import Lock
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event, exc, text

from rpcapi import errors, green
from scheduler_svc.store.records import Durability
from scheduler_svc.store.sql.dialect import ANSWER_SECONDS, CONNECT_SECONDS, POOL, Dialect, unavailable

# Time is read when the row is held, not when the wait for it began.
LOCK = text(
    "WITH held AS MATERIALIZED (SELECT * FROM partitions WHERE name = :name FOR UPDATE) "
    "SELECT held.*, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now FROM (SELECT 1) AS one "
    "LEFT JOIN held ON true"
)
WHO = text(
    "SELECT pg_is_in_recovery() AS standby, (SELECT system_identifier FROM pg_control_system()) AS system, "
    "CASE WHEN NOT pg_is_in_recovery() THEN substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END AS timeline, "
    "(SELECT oid FROM pg_database WHERE datname = current_database()) AS database, "
    "'partitions'::regclass::oid AS home, extract(epoch FROM pg_postmaster_start_time())::text AS started, "
    "current_setting('synchronous_commit') <> 'off' AND current_setting('fsync') = 'on' AS keeps"
)
SCHEMA_LOCK = 0x67616E7474  # "gantt", as a number that others will hardly lock
IDLE_SECONDS = 5.0  # that a session may do nothing while it holds a partition
PASSING = ("40001", "40P01")  # serialization failure, deadlock


class Postgresql(Dialect):
    """A transaction locks its partition's row: verbs of one partition come one at a time, looks wait for nobody.

    A crash loses nothing that was acknowledged where fsync and synchronous_commit are on; durability "always"
    switches the latter on. Where one is off, a server that was started again is another one, and so is in any case
    one on another timeline: a standby that was promoted, or a restore to a point in time.
    """

    def __init__(self, url: URL, durability: Durability) -> None:
        if green.is_patched():
            # psycopg's own wait would hold up all green threads; it is chosen when the module is first imported.
            os.environ.setdefault("PSYCOPG_WAIT_FUNC", "wait_select")
        keepalive = {"keepalives_idle": CONNECT_SECONDS, "keepalives_interval": 2, "keepalives_count": 3}
        arguments = {"connect_timeout": CONNECT_SECONDS, "application_name": "gantt-scheduler", **keepalive}
        arguments["tcp_user_timeout"] = ANSWER_SECONDS * 1000
        try:
            self.engine = create_engine(url.set(drivername="postgresql+psycopg"), connect_args=arguments, **POOL)
        except exc.ArgumentError as error:
            raise errors.BadConfiguration(why=f"[store] url is not one that PostgreSQL has: {error}") from error
        self.looks = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        self._durability = durability
        self._lock = Lock()
        self._listener: Any = None
        event.listen(self.engine, "do_connect", _connect)
        event.listen(self.engine, "connect", self._prepare)

    def lock(self, connection: Connection, partition: str) -> tuple[Mapping[str, Any] | None, int]:
        row = connection.execute(LOCK, {"name": partition}).mappings().one()
        return (dict(row) if row["name"] is not None else None), int(row["now"])

    def identity(self, connection: Connection) -> str:
        who = connection.execute(WHO).mappings().one()
        if who["standby"]:
            raise errors.StoreUnavailable(why="the server is a standby; [store] url must lead to the primary")
        started = "any" if who["keeps"] else who["started"]
        return f"{who['system']} timeline {who['timeline']} in {who['database']}/{who['home']} start {started}"

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
            for _news in listener.notifies(timeout=seconds, stop_after=1):
                return
        except broken as error:
            self._hang_up()
            raise unavailable(error) from error

    def is_passing(self, error: BaseException) -> bool:
        return isinstance(error, exc.DBAPIError) and getattr(error.orig, "sqlstate", None) in PASSING

    def close(self) -> None:
        self._hang_up()
        super().close()

    def _open_listener(self, partition: str) -> Any:
        """Return a psycopg connection that the pool has no part in: one that waits is of no use to others."""
        connection = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            connection.exec_driver_sql(f'LISTEN "{_channel(partition)}"')
            listener = connection.connection.driver_connection
            connection.detach()
        except BaseException:
            connection.close()
            raise
        return listener

    def _hang_up(self) -> None:
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    def _prepare(self, fresh: Any, _record: Any) -> None:
        settings: dict[str, int | str] = {
            "statement_timeout": ANSWER_SECONDS * 1000,
            # A worker that hangs within a transaction holds its partition: the server ends it, and the others go on.
            "idle_in_transaction_session_timeout": round(IDLE_SECONDS * 1000),
        }
        if self._durability == "always":
            settings["synchronous_commit"] = "on"
        autocommit, fresh.autocommit = fresh.autocommit, True
        told = ", ".join("set_config(%s, %s, false)" for _ in settings)
        fresh.execute(f"SELECT {told}", [str(each) for pair in settings.items() for each in pair])
        fresh.autocommit = autocommit


def _connect(_dialect: Any, _record: Any, arguments: Any, options: Any) -> Any:
    from scheduler_svc.store.sql.patience import PatientConnection  # noqa: PLC0415 - SQLite needs no psycopg installed

    return PatientConnection.connect(*arguments, **options)


def _channel(partition: str) -> str:
    """Return the channel on which a partition's news is told; a name of its own would be too long for one."""
    return "gantt_" + hashlib.sha256(partition.encode()).hexdigest()[:32]
