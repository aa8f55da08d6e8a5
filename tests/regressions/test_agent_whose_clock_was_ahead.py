# SPDX-License-Identifier: Apache-2.0
"""Reports of an agent were ignored, and answered as applied, after an earlier one with a clock 30 days ahead."""

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from devstack.servers.redis import RedisServer
from scheduler_svc.store import registrations
from scheduler_svc.store.interface import Store
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.memory.store import wall_clock
from scheduler_svc.store.records import HostReport, StatsOutcome
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.keys import prefix
from scheduler_svc.store.registrations import AppliedReport
from tests.support.store.store_partition import node_stats

AHEAD_MS = 30 * 86_400_000


@pytest.fixture(params=["memory", "redis"])
def store(request: pytest.FixtureRequest, make_redis: Callable[..., RedisServer]) -> Iterator[Store]:
    """A store with the last report of an agent of an earlier release, whose clock was ahead."""
    incarnation = wall_clock() + AHEAD_MS
    store: Any = MemoryStore("p1")
    if request.param == "memory":
        store.state.reports["h1"] = AppliedReport(incarnation, 900, ())
        store.state.services["h1"] = {"schema": 1, "version": 1, "binary": "gantt-compute", "enabled": True}
    else:
        server, name = make_redis(), uuid.uuid4().hex[:8]
        store = RedisStore(server.url(), name)
        record = {"schema": 1, "sequence": 900, "agent": "", "nodes": [], "issued": registrations.issued(incarnation)}
        server.client().hset(prefix(name) + "reports", "h1", json.dumps(record))
    yield store
    store.close()


def report(store: Store, sequence: int, total: int, **options: Any) -> StatsOutcome:
    return store.update_stats("h1", HostReport(sequence=sequence, nodes={"h1": node_stats({"VCPU": total})}, **options))


def test_reports_of_the_next_agent_are_applied(store: Store) -> None:
    first = report(store, 1, 4, incarnation=0, register=True, agent="next")
    assert not first.superseded
    report(store, 2, 8, incarnation=first.incarnation)
    assert store.get_state("compute", "h1")[1]["inventories"]["VCPU"]["total"] == 8


def test_superseded_agent_is_answered_so(store: Store) -> None:
    number = report(store, 1, 4, incarnation=0, register=True, agent="former").incarnation
    report(store, 1, 4, incarnation=0, register=True, agent="next")
    assert report(store, 2, 8, incarnation=number).superseded
    assert store.get_state("compute", "h1")[1]["inventories"]["VCPU"]["total"] == 4
