# SPDX-License-Identifier: Apache-2.0
"""One look at the hosts, and what is sent to the store because of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.model.claims import Verdict
from scheduler_svc.deciding.asked import Asked
from scheduler_svc.deciding.claimer import CHUNK
from scheduler_svc.drivers.driver import Ranking
from scheduler_svc.store.records import Allocations, Batch, Candidate, Intent
from scheduler_svc.table.partition import Standing


@dataclass(frozen=True, slots=True)
class Look:
    """One ranking, and the state of each partition in the table that it was made on.

    ``homes`` says in which partition, by its number, each candidate is; ``seen`` as of which position its sums were
    known, where that is after its partition's: a worker knows what it claimed itself before the log tells it.
    ``informed`` tells whether it was made with what the store knew of the request's server group.
    ``samples`` are some of the hosts that fell to each reason, where none was left.
    """

    ranking: Ranking
    seed: int
    standings: Sequence[Standing]
    homes: Mapping[str, int]
    seen: Mapping[str, int]
    informed: bool = False
    samples: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decision:
    """What one round decided for one chunk of a call, in one partition.

    ``start`` is the chunk's first consumer, ``round`` counts from 0, ``at`` is the state that was decided on, and
    ``heard_s`` how many seconds ago the store said that there is nothing newer. ``lost`` is what the store said in
    earlier rounds of candidates that did not take the claim.
    """

    asked: Asked
    start: int
    round: int
    look: Look
    at: Standing
    driver: str
    heard_s: float = 0.0
    lost: Mapping[str, Verdict] = field(default_factory=dict)

    def batch(self, ctxt: RequestContext, ttl_ms: int) -> Batch:
        """Return the claims to make, with the document that tells why."""
        asked, ranking = self.asked, self.look.ranking
        consumers = asked.consumers[self.start : self.start + CHUNK]
        given = ranking.allocations or [{}] * len(consumers)
        # Asked even without any candidate: the store may know this attempt from an earlier call, and keeps the record.
        ranked = ranking.candidates or [()] * len(consumers)
        whole = {name: Candidate(name, seen=self.look.seen.get(name, 0)) for names in ranked for name in names}
        return Batch(
            request_id=asked.request.id,
            project=ctxt.project_id or "",
            user=ctxt.user_id or "",
            resources=asked.request.resources,
            intents=[
                Intent(consumer, asked.attempt, [_given(whole[name], its) for name in names], near=ranking.near)
                for consumer, names, its in zip(consumers, ranked, given, strict=True)
            ],
            epoch=self.at.epoch,
            position=self.at.position,
            ttl_ms=ttl_ms,
            consumer_type=asked.consumer_type,
            group=asked.request.group,
            alternates=asked.alternates,
            record=self.document(),
        )

    def document(self) -> Mapping[str, Any]:
        """Return the decision's document; the store adds its answer. Of a request in chunks the last one is kept."""
        ranking = self.look.ranking
        document = head(self.asked, self.at, self.driver) | {
            "seed": self.look.seed,
            "chunk": self.start // CHUNK,
            "round": self.round,
            "hosts": ranking.hosts,
            "reasons": dict(ranking.reasons),
            "best": list(ranking.best),
            "heard_s": round(self.heard_s, 3),
            **({"lost": [[name, str(each)] for name, each in self.lost.items()]} if self.lost else {}),
            **({"samples": dict(self.look.samples)} if self.look.samples else {}),
        }
        return document if ranking.batch is None else document | {"batch": dict(ranking.batch)}


def unseen(asked: Asked, at: Standing, driver: str, refused: errors.GanttError) -> dict[str, Any]:
    """Return the document of a refusal for which no host was looked at."""
    said = {"hosts": 0, "reasons": {}, "best": [], "verdicts": [], "outcome": "refused", "why": refused.sentence}
    return head(asked, at, driver) | said


def _given(whole: Candidate, allocations: Mapping[str, Allocations]) -> Candidate:
    """Return a candidate with what one instance is to be given there."""
    return replace(whole, allocations=allocations[whole.host]) if whole.host in allocations else whole


def head(asked: Asked, at: Standing, driver: str) -> dict[str, Any]:
    """Return what every decision's document tells: who decided, on which state, what was asked."""
    return {
        "driver": driver,
        "epoch": at.epoch,
        "position": at.position,
        "instances": len(asked.consumers),
        "chunks": -(-len(asked.consumers) // CHUNK),
        "spec": asked.request.as_dict(),
    }
