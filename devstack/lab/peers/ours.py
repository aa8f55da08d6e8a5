# SPDX-License-Identifier: Apache-2.0
"""Our side of each comparison: the same work on the same hosts."""

import contextlib
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np

from devstack.lab import driver, hosts, private_redis
from devstack.lab.peers.field import Field
from devstack.lab.timing import Subject
from rpcapi.model.claims import Answer
from rpcapi.shell.faults import CommandFailed
from scheduler_svc.filters import pipeline
from scheduler_svc.request import Request
from scheduler_svc.store.records import Batch, Candidate, Intent
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.table.table import HostTable

LIMIT = 1000  # candidates that are named at most, as Nova asks Placement for
CLAIMED = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 1}
TTL_MS = 86_400_000


def candidates(table: HostTable) -> Subject:
    """Return the question for all hosts that can take a server, and the names of up to LIMIT of them."""
    filters = driver.filters()
    asked = [Request("peers", amounts) for amounts in Field.asked()]

    def find(number: int) -> Any:
        with table.reading() as view:
            rows = np.flatnonzero(pipeline.run(filters, view, asked[number % len(asked)]).passes)[:LIMIT]
            return [view.name(row) for row in rows.tolist()]

    return find


@contextlib.contextmanager
def claiming(field: Field) -> Iterator[Subject]:
    """Give a claim for a consumer of its own, on the next host, in a Redis that syncs each second."""
    with private_redis.running("everysec") as server:
        store = RedisStore(server.url(), "peers")
        with contextlib.closing(store):
            store.check_identity()
            nodes = field.nodes
            hosts.join(store, nodes)
            names = list(nodes)
            seen = store.snapshot()

            def claim(number: int) -> None:
                consumer = str(uuid.uuid4())
                batch = Batch(
                    request_id=f"req-{consumer}",
                    project="lab",
                    user="lab",
                    resources=CLAIMED,
                    intents=[Intent(consumer, 1, [Candidate(names[number % len(names)])])],
                    epoch=seen.epoch,
                    position=seen.position,
                    ttl_ms=TTL_MS,
                    record={"driver": "FilterDriver", "seed": number, "hosts": len(names)},
                )
                answered = store.prepare(batch).prepared[0]
                if answered.answer is not Answer.PREPARED:
                    raise CommandFailed(f"Our own claim was answered {answered.answer}: {answered.verdicts}")

            yield claim
