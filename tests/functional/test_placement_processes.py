# SPDX-License-Identifier: Apache-2.0
"""Two processes of gantt-placement beside a scheduler's claims: nothing is oversold, lost or half written."""

import os
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from devstack import exercise
from devstack.cluster_size import ClusterSize
from scheduler_svc.core.records import Candidate, ClaimRef, Intent
from tests.functional.placement_deployment import READY_SECONDS, Client, Deployment, Writer, holding
from tests.support.clusters import clusters, truth
from tests.support.store.store_partition import StorePartition

SIZE = ClusterSize(computes=1, nodes_per_host=1, schedulers=1, placement_port=0)
THREADS = 10
CLAIMS, FITTING = 40, 16
ROUNDS = [
    pytest.param(3, id="short"),
    pytest.param(200, id="long", marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
]
KILLS = [
    pytest.param(4, id="short"),
    pytest.param(30, id="long", marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
]
WRITERS = 6
WRITES_PER_KILL = 40
# The master starts a process that dies soon after a pause, which each death doubles up to half a minute. The kills of
# the long form would wait for that most of the time; a restarted master begins with no pause.
KILLS_PER_START = 5


@pytest.fixture(scope="module")
def deployment() -> Iterator[Deployment]:
    with clusters.running_cluster(SIZE) as running:
        assert running.cluster.placement_url is not None
        exercise.wait_for_placement(running.cluster.placement_url, READY_SECONDS)
        deployment = Deployment(running)
        truth.until("two processes", lambda: len(clusters.workers(deployment.daemon)) == 2)
        yield deployment
        deployment.partition.store.close()


def claim_by_http(client: Client, provider: str, amount: int) -> Callable[[], None] | None:
    """Claim as a client that tries again what its answer says to; return what ends the claim, None if refused."""
    consumer = str(uuid.uuid4())
    while True:
        status, answer = client.call("PUT", f"/allocations/{consumer}", holding("p", {provider: amount}, None))
        if status == 204:
            return lambda: client.delete(f"/allocations/{consumer}")
        assert status == 409, answer
        if answer["errors"][0]["code"] != "placement.concurrent_update":
            return None


def claim_by_scheduler(partition: StorePartition, node: str, provider: str, amount: int) -> Callable[[], None] | None:
    """Claim as a scheduler on a node; return what ends the claim, None if refused."""
    consumer = str(uuid.uuid4())
    candidate = Candidate(node, {provider: {"VCPU": amount}})
    if not partition.store.prepare(partition.batch(Intent(consumer, 1, [candidate]), resources={})).accepted:
        return None
    return lambda: partition.store.abort([ClaimRef(consumer, 1)]) and None


def race(claims: list[Callable[[], Callable[[], None] | None]]) -> list[Callable[[], None]]:
    """Run claims at the same time, as many as there are threads; return what ends the accepted ones."""
    start = threading.Barrier(THREADS)

    def claim_first(attempt: Callable[[], Callable[[], None] | None]) -> Callable[[], None] | None:
        start.wait(60)
        return attempt()

    with ThreadPoolExecutor(THREADS) as pool:
        endings = list(pool.map(claim_first, claims[:THREADS]))
        endings += list(pool.map(lambda attempt: attempt(), claims[THREADS:]))
    return [ending for ending in endings if ending is not None]


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("owner", ["api", "agent"])
@pytest.mark.parametrize("shares", [(40, 0), (20, 20)], ids=["http", "http-and-scheduler"])
def test_exactly_what_fits_is_accepted(
    deployment: Deployment, rounds: int, owner: str, shares: tuple[int, int]
) -> None:
    by_http, by_scheduler = shares
    assert by_http + by_scheduler == CLAIMS
    client, partition = deployment.client, deployment.partition
    (node,) = (
        provider
        for provider in deployment.get("/resource_providers")["resource_providers"]
        if provider["name"].startswith("compute0")
    )
    for number in range(rounds):
        # Given a provider on which sixteen of forty claims fit
        provider, stored, amount = node["uuid"], node["name"], 0
        if owner == "api":
            provider = deployment.make_provider(FITTING)
            stored = f"@api/{provider}"
        inventory = deployment.get(f"/resource_providers/{provider}/inventories")["inventories"]["VCPU"]
        amount = int(inventory["total"] * inventory["allocation_ratio"]) // FITTING
        # When all claim at the same time
        claims = [lambda: claim_by_http(client, provider, amount) for _ in range(by_http)]  # noqa: B023
        claims += [
            lambda: claim_by_scheduler(partition, node["name"], stored, amount)  # noqa: B023
            for _ in range(by_scheduler)
        ]
        Random(number).shuffle(claims)
        endings = race(claims)
        # Then exactly sixteen are accepted, and in use
        assert (len(endings), deployment.used(provider)) == (FITTING, FITTING * amount)
        assert list(partition.check().excess) == []
        for ending in endings:
            ending()
        assert deployment.used(provider) == 0
        if owner == "api":
            client.delete(f"/resource_providers/{provider}")


@pytest.mark.parametrize("kills", KILLS)
def test_killed_process_loses_no_acknowledged_write_and_leaves_no_half(deployment: Deployment, kills: int) -> None:
    # Given clients that write to both processes
    providers = [deployment.make_provider(1000) for _ in range(2)]
    writers = [Writer(f"w{number}", deployment.client, providers) for number in range(WRITERS)]
    is_over = threading.Event()

    def write_on(writer: Writer) -> None:
        while not is_over.is_set():
            writer.write()

    def count() -> int:
        return sum(writer.acknowledged for writer in writers)

    # When one process after the other is killed among their writes
    with ThreadPoolExecutor(WRITERS) as pool:
        runs = [pool.submit(write_on, writer) for writer in writers]
        try:
            for number in range(kills):
                if number and number % KILLS_PER_START == 0:
                    deployment.restart()
                target = count() + WRITES_PER_KILL
                truth.until("further writes", lambda: any(run.done() for run in runs) or count() >= target)  # noqa: B023
                victim = clusters.workers(deployment.daemon)[0]
                os.kill(victim, signal.SIGKILL)
                truth.until("another process", lambda: len(set(clusters.workers(deployment.daemon)) - {victim}) == 2)  # noqa: B023
        finally:
            is_over.set()
    for run in runs:
        run.result()

    # Then every consumer holds what its last acknowledged write said, or a later one that got no answer
    holdings = [writer.check() for writer in writers]
    for provider in providers:
        assert deployment.used(provider) == sum(amounts[provider] for amounts in holdings)
    assert list(deployment.partition.check().excess) == []
    for writer in writers:
        for consumer in (writer.consumer, *writer.pair):
            deployment.client.call("DELETE", f"/allocations/{consumer}")
    for provider in providers:
        deployment.client.delete(f"/resource_providers/{provider}")


def test_operators_are_warned_of_an_epoch_until_they_acknowledge_it(deployment: Deployment) -> None:
    assert deployment.warning() == ""

    epoch = deployment.partition.new_epoch()

    warning = truth.until("the warning", deployment.warning)
    assert warning.startswith(f"partition default began epoch {epoch}: ")
    deployment.run_command("gantt", "partition", "acknowledge", "default", str(epoch))
    assert deployment.warning() == ""
