# SPDX-License-Identifier: Apache-2.0
"""gantt's side of each comparison: the same work on the same hosts."""

import contextlib
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np

from devstack.lab import default_driver, hosts, private_redis
from devstack.lab.peers.workload import PeerWorkload
from devstack.lab.timing import TimedSubject
from rpcapi.cli.command import CommandFailed
from rpcapi.resources.claims import Answer
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.records import Candidate, ClaimBatch, Intent
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.store.redis import RedisStore

LIMIT = 1000  # maximum number of candidates, as in Nova's requests to Placement
RESOURCES = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 1}
TTL_MS = 86_400_000


def candidates_subject(table: HostTable) -> TimedSubject:
    """Return a subject that filters all hosts and returns the names of up to LIMIT matching ones."""
    filters = default_driver.filters()
    requests = [SchedulingRequest("peers", amounts) for amounts in PeerWorkload.peer_requests()]

    def find(number: int) -> Any:
        with table.reading() as view:
            rows = np.flatnonzero(pipeline.run(filters, view, requests[number % len(requests)]).passes)[:LIMIT]
            return [view.name(row) for row in rows.tolist()]

    return find


@contextlib.contextmanager
def claim_subject(workload: PeerWorkload) -> Iterator[TimedSubject]:
    """Yield a subject that claims for a new consumer on the next host, in a private Redis (everysec)."""
    with private_redis.running("everysec") as server:
        store = RedisStore(server.url(), "peers")
        with contextlib.closing(store):
            store.check_identity()
            nodes = workload.nodes
            hosts.join(store, nodes)
            names = list(nodes)
            snapshot = store.snapshot()

            def claim(number: int) -> None:
                consumer = str(uuid.uuid4())
                batch = ClaimBatch(
                    request_id=f"req-{consumer}",
                    project="lab",
                    user="lab",
                    resources=RESOURCES,
                    intents=[Intent(consumer, 1, [Candidate(names[number % len(names)])])],
                    epoch=snapshot.epoch,
                    position=snapshot.position,
                    ttl_ms=TTL_MS,
                    record={"driver": "FilterDriver", "seed": number, "hosts": len(names)},
                )
                result = store.prepare(batch).prepared[0]
                if result.answer is not Answer.PREPARED:
                    raise CommandFailed(f"gantt's claim was answered {result.answer}: {result.verdicts}")

            yield claim
