# SPDX-License-Identifier: Apache-2.0
"""A step context of one request, with scripted claims."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import oslo_messaging as messaging

from conductor.collaborators import ServiceClients
from conductor.saga.step_context import SagaLimits, StepContext
from conductor.store.records import BuildRequestRecord, InstanceRecord
from rpcapi import objects

NOW = 1_000_000
SPEC = objects.RequestSpec.of(resources={"VCPU": 1})
REQUEST = BuildRequestRecord("key", "req-1", "project", "user", None, SPEC.obj_to_primitive())


class FakeClaims:
    """Claims clients of all partitions; ``answer`` gets (consumer, attempt) and returns (answer, host) or raises.

    ``live`` are all live claims.
    """

    def __init__(
        self, answer: Callable[[str, int], tuple[str, str | None]], live: Sequence[dict[str, Any]] = ()
    ) -> None:
        self._answer = answer
        self._live = live
        self.calls: list[tuple[str, list[tuple[str, int]]]] = []
        self.destinations: dict[tuple[str, int], str | None] = {}

    def of(self, partition: str) -> Any:
        def abort_claims(
            ctxt: Any, refs: objects.ClaimRefs, destinations: list[str | None] | None = None
        ) -> objects.ClaimAnswers:
            pairs = list(refs.pairs())
            self.destinations.update(zip(pairs, destinations or [None] * len(pairs), strict=True))
            self.calls.append((partition, pairs))
            rows = [self._answer(*pair) for pair in pairs]
            return objects.ClaimAnswers.of(
                consumers=[consumer for consumer, _ in pairs],
                attempts=[attempt for _, attempt in pairs],
                answers=[answer for answer, _ in rows],
                hosts=[host for _, host in rows],
                reasons=["" for _ in rows],
                deadlines_ms=[None for _ in rows],
            )

        def list_claims(ctxt: Any, consumer: str) -> objects.ClaimPage:
            return objects.ClaimPage.of(claims=[claim for claim in self._live if claim["consumer"] == consumer])

        return SimpleNamespace(abort_claims=abort_claims, find_claims=abort_claims, list_claims=list_claims)


class SilentAgents:
    """Agents that answer no call."""

    def list_owners(self, *_arguments: Any) -> Any:
        raise messaging.MessagingTimeout("no answer")


def make_context(
    claims: FakeClaims | None = None, *, now_ms: int = NOW, jitter: float = 1.0, **limits: Any
) -> StepContext:
    """Return a context at ``now_ms`` without jitter; only claims answer calls."""
    clients = ServiceClients(None, SilentAgents(), claims.of if claims else None, "cell")  # type: ignore[arg-type]
    return StepContext(clients, SagaLimits(**limits), REQUEST, NOW, jitter)


def instance(uuid: str = "a", **values: Any) -> InstanceRecord:
    return InstanceRecord(uuid, REQUEST.key, **values)
