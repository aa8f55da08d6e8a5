# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL standby that must confirm each commit: what is acknowledged without it, and what it has then."""

import contextlib
import threading
from collections.abc import Callable
from urllib.parse import quote

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from devstack.servers.postgresql import DATABASE, USER, PostgresqlServer
from rpcapi import errors
from tests.chaos.test_database_killed import HOSTS, PATIENCE, make_postgresql, opened, serves, started
from tests.unit.scheduler_svc.store.world import World, poll

__all__ = ["make_postgresql"]
pytestmark = pytest.mark.long  # a standby that confirms nothing is promoted in test_database_killed.py

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
CONFIRMING = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'"


def ask(server: PostgresqlServer, *statements: str) -> int:
    """Run statements, and return what the last one counts."""
    engine = create_engine(
        make_url(server.url()).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT", poolclass=NullPool
    )
    with engine.connect() as connection:
        for statement in statements[:-1]:
            connection.execute(text(statement))
        return int(connection.scalar(text(statements[-1])) or 0)


def pair(make: Callable[..., PostgresqlServer]) -> tuple[PostgresqlServer, PostgresqlServer, World]:
    """Start a primary and the standby that must confirm, and a store that finds whichever takes the writes."""
    primary, standby = started(make()), make()
    standby.follow(primary)
    standby.start()
    ask(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT count(pg_reload_conf())")
    poll(lambda: ask(primary, CONFIRMING) > 0, PATIENCE)
    places = "&".join(f"host={quote(str(server.folder))}" for server in (primary, standby))
    return primary, standby, opened(f"postgresql://{USER}@/{DATABASE}?{places}&target_session_attrs=read-write")


def test_promoted_standby_has_what_it_confirmed(
    make_postgresql: Callable[..., PostgresqlServer],
) -> None:
    primary, standby, world = pair(make_postgresql)
    held = [world.hold(f"c{number}", HOSTS[0]) for number in range(5)]
    epoch = world.store.snapshot().epoch
    primary.kill()
    standby.promote()
    # Then the same store goes on with the other server, which has all of it and is another epoch all the same.
    poll(lambda: serves(world.store), PATIENCE)
    assert {claim.consumer for claim in world.store.claims()[0]} == {ref.consumer for ref in held}
    assert world.store.snapshot().epoch > epoch
    assert world.store.verify().awaited == HOSTS
    world.store.close()


def test_nothing_is_acknowledged_while_the_standby_is_away(make_postgresql: Callable[..., PostgresqlServer]) -> None:
    primary, standby, world = pair(make_postgresql)
    standby.kill()
    told = threading.Event()

    def claim() -> None:
        while not told.is_set():
            with contextlib.suppress(errors.StoreUnavailable):
                world.hold("c1", HOSTS[0])
                told.set()

    claimer = threading.Thread(target=claim, daemon=True)
    claimer.start()
    poll(lambda: ask(primary, WAITING) > 0, PATIENCE)
    assert not told.is_set()
    # When it is back, then who waited or asked again is answered, and nothing was done twice.
    standby.start()
    assert told.wait(PATIENCE)
    assert [claim.consumer for claim in world.store.claims()[0]] == ["c1"]
    world.check()
    world.store.close()
