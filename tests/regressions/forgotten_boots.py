# SPDX-License-Identifier: Apache-2.0
"""A simulated cluster whose stores forget what runs."""

from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from tests.support.conductor.simulated_cluster import SimulatedCluster
from tests.support.store.store_partition import running

MINUTE_MS = 60_000


def lose_partition(cluster: SimulatedCluster, uuid: str, running_on: str) -> None:
    """Forget an instance's claim, which runs; audit all other hosts."""
    store = cluster.ledger.store
    store.state.drop_claim(store.state.claims[uuid])
    store.state.changed_providers.clear()
    cluster.ledger.forget()
    for host in {name.partition("/")[0] for name in cluster.ledger.nodes} - {running_on}:
        cluster.ledger.audit(host)


def come_back(cluster: SimulatedCluster, uuid: str, host: str) -> Answer:
    """Let a host audit with its guest; return the answer."""
    epoch = cluster.ledger.store.snapshot().epoch
    ref = ClaimRef(uuid, 1)
    guest = running(ref, cluster.hosts.guests[ref], amounts={"VCPU": 1})
    return cluster.ledger.store.audit(host, epoch, [guest], 0).answers[0].answer
