# SPDX-License-Identifier: Apache-2.0
"""The largest request: for how long its one script keeps the server from other calls.

The stall is the processor time of the server's main thread, which on a quiet machine is the time that others wait: the
elapsed time of a script this long would mostly show the other processes of a busy machine.
"""

import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import redis

from devstack.lab.claim.calls import CLAIM, LOG_LENGTH, RESOURCES, TTL_MS, empty_node, evalsha_us
from devstack.lab.rows import ResultRow
from devstack.servers.redis import AppendFsync
from rpcapi.cli.command import CommandFailed
from rpcapi.resources.claims import MAX_INSTANCES
from scheduler_svc.core.drivers.driver import max_candidates
from scheduler_svc.core.records import Candidate, ClaimBatch, ClaimRef, Intent
from scheduler_svc.store.redis import RedisStore

MAX_STALL_MS = 150.0  # what the server may spend on one script; the ratio's baseline
REQUESTS = 20


def measure(mode: AppendFsync, url: str, client: redis.Redis, tick: Callable[[], Any]) -> ResultRow:
    """Claim requests of MAX_INSTANCES instances one after another; return the stall of the server by each as a row.

    Each is aborted before the next. The first is discarded.
    """
    store = RedisStore(url, CLAIM, log_length=LOG_LENGTH)
    stalls, elapsed = [], []
    for _ in range(REQUESTS + 1):
        batch = _batch(store)
        before = _processor_ms(client), evalsha_us(client)
        accepted = store.prepare(batch).accepted
        elapsed.append((evalsha_us(client) - before[1]) / 1000)
        stalls.append(_processor_ms(client) - before[0])
        if not accepted:
            raise CommandFailed("A request of the largest size was refused: its nodes are too small")
        store.abort([ClaimRef(intent.consumer, 1) for intent in batch.intents])
        tick()
    store.close()
    p50, p99 = (float(np.percentile(stalls[1:], percent)) for percent in (50, 99))
    figures = {
        "fsync": mode,
        "instances": MAX_INSTANCES,
        "candidates": max_candidates(MAX_INSTANCES),
        "p50_ms": p50,
        "p99_ms": p99,
        "elapsed_p50_ms": float(np.percentile(elapsed[1:], 50)),
        "instance_us": 1000 * p50 / MAX_INSTANCES,
    }
    return ResultRow(f"stall of the largest request, fsync {mode}", p99 / MAX_STALL_MS, 1.0, figures=figures)


def _processor_ms(client: redis.Redis) -> float:
    """Return the processor time of the server's main thread in milliseconds."""
    statistics: Any = client.info("cpu")
    return 1000 * (statistics["used_cpu_user_main_thread"] + statistics["used_cpu_sys_main_thread"])


def _batch(store: RedisStore) -> ClaimBatch:
    snapshot = store.snapshot()
    candidates = range(max_candidates(MAX_INSTANCES))
    request_id = f"req-{uuid.uuid4()}"
    return ClaimBatch(
        request_id=request_id,
        project="lab",
        user="lab",
        resources=RESOURCES,
        intents=[
            Intent(str(uuid.uuid4()), 1, [Candidate(empty_node(number + offset)) for offset in candidates])
            for number in range(MAX_INSTANCES)
        ],
        epoch=snapshot.epoch,
        position=snapshot.position,
        ttl_ms=TTL_MS,
        record={"driver": "FilterDriver", "seed": 1, "spec": {"resources": RESOURCES}, "instances": MAX_INSTANCES},
    )
