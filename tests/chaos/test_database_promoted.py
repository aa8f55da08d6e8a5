# SPDX-License-Identifier: Apache-2.0
"""A synchronous PostgreSQL standby: acknowledgements while it is down, and its data after promotion."""

import contextlib
import threading
from collections.abc import Callable
from urllib.parse import quote

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from rpcapi import errors
from scheduler_svc.store.verbs.contents import UNNAMED_HOSTS
from tests.chaos.test_database_killed import HOSTS, RECOVERY_SECONDS, make_postgresql, opened, serves, started
from tests.support.private_servers.postgresql import DATABASE, USER, PostgresqlServer
from tests.support.store.store_partition import StorePartition, poll

__all__ = ["make_postgresql"]
pytestmark = pytest.mark.long  # test_database_killed.py promotes an asynchronous standby

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
CONFIRMING = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'"


def ask(server: PostgresqlServer, *statements: str) -> int:
    """Run statements, and return the count that the last one selects."""
    engine = create_engine(
        make_url(server.url()).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT", poolclass=NullPool
    )
    with engine.connect() as connection:
        for statement in statements[:-1]:
            connection.execute(text(statement))
        return int(connection.scalar(text(statements[-1])) or 0)


def pair(make: Callable[..., PostgresqlServer]) -> tuple[PostgresqlServer, PostgresqlServer, StorePartition]:
    """Start a primary, its synchronous standby, and a store that connects to whichever accepts writes."""
    primary, standby = started(make()), make()
    standby.follow(primary)
    standby.start()
    ask(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT count(pg_reload_conf())")
    poll(lambda: ask(primary, CONFIRMING) > 0, RECOVERY_SECONDS)
    places = "&".join(f"host={quote(str(server.folder))}" for server in (primary, standby))
    return primary, standby, opened(f"postgresql://{USER}@/{DATABASE}?{places}&target_session_attrs=read-write")


def test_promoted_standby_has_confirmed_claims(
    make_postgresql: Callable[..., PostgresqlServer],
) -> None:
    primary, standby, partition = pair(make_postgresql)
    refs = [partition.hold(f"c{number}", HOSTS[0]) for number in range(5)]
    epoch = partition.store.snapshot().epoch
    primary.kill()
    standby.promote()
    # Then the same store continues on the other server, with all claims, but in a new epoch.
    poll(lambda: serves(partition.store), RECOVERY_SECONDS)
    assert {claim.consumer for claim in partition.store.claims()[0]} == {ref.consumer for ref in refs}
    assert partition.store.snapshot().epoch > epoch
    assert partition.store.verify().awaited == [UNNAMED_HOSTS, *HOSTS]
    partition.store.close()


def test_nothing_is_acknowledged_while_the_standby_is_away(make_postgresql: Callable[..., PostgresqlServer]) -> None:
    primary, standby, partition = pair(make_postgresql)
    standby.kill()
    acknowledged = threading.Event()

    def claim() -> None:
        while not acknowledged.is_set():
            with contextlib.suppress(errors.StoreUnavailable):
                partition.hold("c1", HOSTS[0])
                acknowledged.set()

    claimer = threading.Thread(target=claim, daemon=True)
    claimer.start()
    poll(lambda: ask(primary, WAITING) > 0, RECOVERY_SECONDS)
    assert not acknowledged.is_set()
    # When the standby is back, then waiting and repeated calls are answered, and nothing was done twice.
    standby.start()
    assert acknowledged.wait(RECOVERY_SECONDS)
    assert [claim.consumer for claim in partition.store.claims()[0]] == ["c1"]
    partition.check()
    partition.store.close()
