# SPDX-License-Identifier: Apache-2.0
"""A power loss took all stores back: neither record nor claims named the attempt that ran.

Step SETTLE found no claim, and recorded the next attempt as lost before its host had audited. The claim that the host
then reported was waited for without end, and the server was shown as BUILDING for ever.
"""

import copy
from dataclasses import replace

from conductor.store.records import SagaStep
from rpcapi.resources.statuses import InstanceStatus
from scheduler_svc.store.records import RunningClaim
from tests.support.conductor.simulated_cluster import THREE, SimulatedCluster, uuid_list

(UUID,) = uuid_list(1)
MINUTE_MS = 60_000


def test_uncertain_record_without_a_claim_waits_for_hosts_that_may_run_the_instance() -> None:
    # Given a running server, whose claim its partition has forgotten
    cluster = SimulatedCluster(THREE)
    cluster.conductor()
    store = cluster.ledger.store
    before = copy.deepcopy(store.state)
    cluster.build([UUID])
    cluster.settle()
    (claim,) = store.claims(consumer=UUID)[0]
    before.epoch, before.position = store.state.epoch, store.state.position
    store.state = before
    store.name_hosts(store.begin_epoch(), [], complete=True)
    # And a record that is not certain, in step SETTLE
    cluster.restore_records(cluster.copy_records())
    settling = replace(cluster.record(UUID), step=SagaStep.SETTLE, status=InstanceStatus.BUILDING)
    cluster.store.write_without_lease([settling], wake=True)
    # When the conductor works, then it waits
    cluster.settle(MINUTE_MS)
    assert cluster.record(UUID).step == "settle"
    # And once the host has reported the claim, the server is ACTIVE again under its attempt
    running = RunningClaim(UUID, 1, True, claim.host, claim.allocations, "INSTANCE", "p", "u", "r")
    store.audit("h1", store.snapshot().epoch, [running], 0)
    cluster.settle()
    assert (cluster.record(UUID).status, cluster.record(UUID).attempt) == ("ACTIVE", 1)
    assert cluster.hosts.running_guests_of(UUID) == [(UUID, 1)]
    cluster.check([UUID])
