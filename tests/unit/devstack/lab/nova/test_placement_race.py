# SPDX-License-Identifier: Apache-2.0
"""Parallel claims of the same capacity, from gantt-placement and from scripted servers."""

import threading
import uuid

import pytest

from devstack.lab.nova import placement_race
from devstack.lab.nova.placement_race import CAPACITY, CLAIMS, CONCURRENT_UPDATE, REPETITIONS
from devstack.lab.placement import servers
from devstack.lab.placement.cloud import Cloud
from devstack.nova.client import CallFailed, CloudPlacementClient
from devstack.servers.ports import LOOPBACK


class ScriptedPlacement:
    """Accepts claims up to ``sold``; each consumer first gets ``conflicts`` answers that ask for a repetition."""

    def __init__(self, sold=CAPACITY, conflicts=0, status=409):
        self.providers = {}
        self._sold, self._conflicts, self._status = sold, conflicts, status
        self._requests = {}
        self._holders = set()
        self._lock = threading.Lock()

    def call(self, method, path, body=None):
        with self._lock:
            if path.startswith("/allocations/"):
                return self._allocate(method, path.rpartition("/")[2])
            if method == "POST":
                return {**body, "generation": 0}
            return None

    def get(self, path):
        assert path.endswith("/usages")
        return {"usages": {"VCPU": len(self._holders)}}

    @property
    def left(self):
        return len(self._holders)

    def _allocate(self, method, consumer):
        if method == "DELETE":
            self._holders.remove(consumer)
            return
        self._requests[consumer] = self._requests.get(consumer, 0) + 1
        if self._requests[consumer] <= self._conflicts:
            raise CallFailed("PUT", 409, CONCURRENT_UPDATE)
        if len(self._holders) >= self._sold:
            raise CallFailed("PUT", self._status, "over capacity")
        self._holders.add(consumer)


def measure(**servers):
    sides = {name: (lambda server=server: server) for name, server in servers.items()}
    return list(placement_race.measure(sides, 3))


def test_gantt_placement_sells_exactly_its_capacity():
    with servers.run_gantt(Cloud(0), 2, "everysec") as gantt:
        url = f"http://{LOOPBACK}:{gantt.port}"
        before = {provider["uuid"] for provider in CloudPlacementClient(url).providers()}
        (row,) = placement_race.measure({"gantt": lambda: CloudPlacementClient(url)}, 2)
        assert {provider["uuid"] for provider in CloudPlacementClient(url).providers()} == before
    assert (row.ratio, row.ok) == (0, True)
    assert row.figures["accepted_min"] == row.figures["accepted_max"] == row.figures["usage_max"] == CAPACITY


def test_rounds_that_sell_something_else_are_counted_for_each_side():
    exact, oversold, undersold = measure(
        exact=ScriptedPlacement(), oversold=ScriptedPlacement(sold=20), undersold=ScriptedPlacement(sold=15)
    )
    assert [row.ratio for row in (exact, oversold, undersold)] == [0, 3, 3]
    assert oversold.figures["accepted_max"] == oversold.figures["usage_max"] == 20
    assert undersold.figures["accepted_min"] == 15


def test_first_side_has_the_budget():
    row, other = measure(ours=ScriptedPlacement(sold=CLAIMS), theirs=ScriptedPlacement(sold=CLAIMS))
    assert (row.budget, row.ok, other.budget) == (0, False, None)


def test_claims_are_repeated_where_the_answer_asks_for_it_and_not_for_ever():
    patient, beyond = measure(
        patient=ScriptedPlacement(conflicts=1), beyond=ScriptedPlacement(conflicts=REPETITIONS + 1)
    )
    assert (patient.ratio, patient.figures["repeated_claims"]) == (0, 3 * CLAIMS)
    assert (beyond.figures["accepted_max"], beyond.figures["repeated_claims"]) == (0, 3 * CLAIMS * REPETITIONS)


def test_nothing_is_left_of_a_round():
    server = ScriptedPlacement()
    placement_race.run_round(lambda: server)
    assert server.left == 0


def test_other_refusals_end_the_measurement():
    with pytest.raises(CallFailed):
        placement_race.run_round(lambda: ScriptedPlacement(sold=0, status=500))


def test_consumers_are_uuids_of_their_own():
    consumers = []

    class Recorder(ScriptedPlacement):
        def _allocate(self, method, consumer):
            consumers.append(str(uuid.UUID(consumer)))
            super()._allocate(method, consumer)

    server = Recorder()
    placement_race.run_round(lambda: server)
    assert len(set(consumers)) == CLAIMS
