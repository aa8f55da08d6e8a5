# SPDX-License-Identifier: Apache-2.0
"""A real claim store in memory, with which the fakes of the scheduler and the agents work."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rpcapi import context, objects
from rpcapi.context import RequestContext
from rpcapi.resources.claims import ClaimState, GroupPolicy, MoveEnd
from rpcapi.resources.inventory import Inventory
from rpcapi.validation.moves import NO_MOVE
from scheduler_svc.core.records import BatchAnswer, Candidate, ClaimBatch, ClaimGroup, ClaimRef, Intent
from scheduler_svc.store.interface import Store
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import HostReport, RunningClaim

PARTITION = "cell"
TTL_MS = 60_000
FOREVER_MS = 24 * 3_600_000


class Ledger:
    """Nodes with capacity, and the claims on them. ``ttl_ms`` is so long that leaked claims stay visible."""

    def __init__(self, capacities: Mapping[str, int], clock: Callable[[], int], store: Store | None = None) -> None:
        """``store``: another one, without hosts, whose time is its own."""
        self.nodes = list(capacities)
        self.ttl_ms = FOREVER_MS
        self.store: Any = store or MemoryStore(PARTITION, clock=clock, max_step_ms=1 << 50)
        for host in dict.fromkeys(node.partition("/")[0] for node in self.nodes):
            nodes = {node: capacities[node] for node in self.nodes if node.startswith(f"{host}/")}
            self.store.update_stats(
                host,
                HostReport(
                    register=True,
                    agent="a",
                    incarnation=0,
                    sequence=1,
                    nodes={name: _document(capacity) for name, capacity in nodes.items()},
                ),
            )
            self.store.audit(host, self.store.snapshot().epoch, [], 0)

    def prepare(
        self,
        ctxt: RequestContext,
        spec: objects.RequestSpec,
        intents: Sequence[Intent],
        epoch: int,
        alternates: int,
        *,
        fresh: bool,
    ) -> BatchAnswer:
        """Prepare claims at the current position."""
        answer: BatchAnswer = self.store.prepare(
            ClaimBatch(
                request_id=ctxt.request_id,
                project="p",
                user="u",
                resources=dict(spec.resources),
                intents=intents,
                epoch=epoch,
                position=self.store.snapshot().position,
                ttl_ms=self.ttl_ms,
                alternates=alternates,
                fresh=fresh,
                group=group_of(spec),
            )
        )
        return answer

    def hold(self, consumer: str, node: str, attempt: int = 1, move: MoveEnd = NO_MOVE) -> None:
        """Confirm a claim of the consumer's attempt on a node; ``move`` is that of a destination."""
        spec = objects.RequestSpec.of(resources={"VCPU": 1})
        intent = Intent(
            *(consumer, attempt, [Candidate(node)]), migration=move.migration, source_attempt=move.source_attempt
        )
        answer = self.prepare(context.new(), spec, [intent], self.store.snapshot().epoch, 0, fresh=True)
        assert answer.accepted
        self.store.confirm(node.partition("/")[0], [ClaimRef(consumer, attempt)])

    def free(self, node: str) -> int:
        """Return the VCPUs that a node has left."""
        _version, document = self.store.get_state("compute", node)
        return int(document["inventories"]["VCPU"]["capacity"] - document["used"].get("VCPU", 0))

    def forget(self) -> None:
        """Begin a new epoch, in which no host is audited yet."""
        self.store.begin_epoch()

    def audit(self, host: str) -> None:
        """Audit a host with all its confirmed claims as running, which opens it."""
        epoch = self.store.snapshot().epoch
        claims, _ = self.store.claims(host=host)
        running = [
            RunningClaim(claim.consumer, claim.attempt, True, claim.host, claim.allocations, "INSTANCE", "p", "u", "r")
            for claim in claims
            if claim.state == ClaimState.CONFIRMED
        ]
        self.store.audit(host, epoch, running, 0)

    def live(self) -> dict[str, tuple[str, int, str]]:
        """Return (host, attempt, state) of each consumer's live claim."""
        claims, _ = self.store.claims()
        return {claim.consumer: (claim.host, claim.attempt, str(claim.state)) for claim in claims}

    def problems(self) -> list[str]:
        """Return the problems that verify finds."""
        return list(self.store.verify().problems)


def group_of(spec: objects.RequestSpec) -> ClaimGroup | None:
    """Return the server group of a request."""
    if spec.group_id is None:
        return None
    return ClaimGroup(spec.group_id, GroupPolicy(spec.group_policy), spec.group_max_per_host or 1)


def _document(capacity: int) -> dict[str, Any]:
    inventory = Inventory(total=capacity).as_dict()
    return {"inventories": {"VCPU": inventory}, "traits": [], "availability_zone": None, "metrics": {}}
