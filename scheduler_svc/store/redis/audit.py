# SPDX-License-Identifier: Apache-2.0
"""Audit verb on Redis."""

from collections.abc import Sequence
from dataclasses import replace

from scheduler_svc.store import verbs
from scheduler_svc.store.records import AuditOutcome, RunningClaim
from scheduler_svc.store.redis.connect import RedisConnection
from scheduler_svc.store.redis.partition import run_at


def audit(
    connection: RedisConnection,
    host: str,
    epoch: int,
    running: Sequence[RunningClaim],
    *,
    grace_ms: int,
    host_uuid: str | None,
) -> AuditOutcome:
    """Run an audit. Its outcome has the position of the commit: the log may have grown after the verb's reads."""
    outcome, position = run_at(
        connection, verbs.audit.audit, host, epoch, running, grace_ms=grace_ms, host_uuid=host_uuid
    )
    return replace(outcome, position=position) if outcome.position else outcome
