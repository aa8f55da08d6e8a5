# SPDX-License-Identifier: Apache-2.0
"""A worker's table frees the rows of names that departed: it kept 62,000 rows for 2,000 hosts."""

from scheduler_svc.core.table.partition import MIN_DEPARTURES
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler import hosts

GENERATION = MIN_DEPARTURES // 2 + 50  # hosts with new names in each generation
LONG_MS = 1_000_000_000


def test_rows_are_bounded_whatever_number_of_names_departs() -> None:
    store = MemoryStore("default", log_length=1_000_000)
    replica = Replica(store)
    replica.load()
    hosts.join(store, {"stays": hosts.node()})
    largest = 0
    for generation in range(8):
        names = [f"g{generation}-{number}" for number in range(GENERATION)]
        hosts.join(store, {name: hosts.node() for name in names})
        while replica.log_position.position < store.state.position:
            replica.step(0)
        largest = max(largest, len(replica.table.names))
        assert replica.table.hosts == GENERATION + 1
        for name in names:
            store.remove(name)
        while replica.log_position.position < store.state.position:
            replica.step(0)
    assert replica.table.hosts == 1
    assert largest <= 4 * GENERATION
    with replica.table.reading() as view:
        row = view.row("stays")
        assert row is not None and view.name(row) == "stays" and view.present[row]
