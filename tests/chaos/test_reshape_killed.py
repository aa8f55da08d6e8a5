# SPDX-License-Identifier: Apache-2.0
"""A process that is killed in the middle of a reshape has made all of it or nothing."""

import signal
import subprocess
import sys
import textwrap

import pytest

from rpcapi.resources.inventory import Inventory
from scheduler_svc.store.allocations import ANY, AllocationChange
from scheduler_svc.store.factory import open_store
from scheduler_svc.store.providers.changes import CreateProvider, SetInventories
from tests.support.clusters.waiting import wait_until

PLACES = [f"@api/{number}" for number in range(40)]
KILLS = 4
MOVER = """
    import itertools, sys
    from tests.chaos.test_reshape_killed import PLACES, move
    from scheduler_svc.store.factory import open_store
    store = open_store(sys.argv[1], sys.argv[2])
    for number in itertools.count():
        assert move(store, number % 2) is None
"""


def move(store, half):
    """Move the inventories of one half of the places, and what is held from them, to the other half."""
    middle = len(PLACES) // 2
    filled = PLACES[:middle] if half else PLACES[middle:]
    inventories = [SetInventories(place, {"VCPU": Inventory(4)} if place in filled else {}) for place in PLACES]
    changes = [
        AllocationChange(f"c{number}", {place: {"VCPU": 4}}, "p", "u", ANY) for number, place in enumerate(filled)
    ]
    return store.reshape(inventories, changes)


@pytest.fixture(params=["redis", "sqlite"])
def url(request, redis_server, run_folder):
    return redis_server.url() if request.param == "redis" else f"sqlite:///{run_folder / 'store.sqlite'}"


def read_settled(store):
    """Return the states of providers and of consumers of one moment.

    The store may carry out the killed mover's last call, which it had received, between two reads.
    """
    consumers = [f"c{number}" for number in range(len(PLACES) // 2)]
    while True:
        states = store.read_providers(PLACES)
        allocations = store.read_allocations(consumers)
        if store.read_generations(PLACES) == {place: states[place].generation for place in PLACES}:
            return states, allocations


def test_killed_reshape_is_whole_or_nothing(url, run_folder):
    partition = f"reshape{run_folder.name}"
    store = open_store(url, partition)
    store.check_identity()
    for place in PLACES:
        store.change_provider(CreateProvider(place, place[5:]))
    assert move(store, 0) is None
    for _ in range(KILLS):
        before = store.read_generations(PLACES[:1])[PLACES[0]]
        mover = subprocess.Popen([sys.executable, "-c", textwrap.dedent(MOVER), url, partition])
        try:
            wait_until(
                lambda start=before: store.read_generations(PLACES[:1])[PLACES[0]] > start + 6, "several reshapes"
            )
        finally:
            mover.send_signal(signal.SIGKILL)
            mover.wait()
        states, consumers = read_settled(store)
        filled = [place for place in PLACES if states[place].used.get("VCPU")]
        middle = len(PLACES) // 2
        assert filled in (PLACES[:middle], PLACES[middle:])
        assert filled == [place for place in PLACES if states[place].document["inventories"]]
        assert sorted(place for state in consumers.values() for place in state.allocations) == sorted(filled)
        assert list(store.verify().problems) == []
    store.close()
