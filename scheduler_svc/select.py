# SPDX-License-Identifier: Apache-2.0
"""The decision: rank hosts on this worker's table, claim them in the store, and decide anew what was lost."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from oslo_log import log

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.model.claims import Verdict
from scheduler_svc import metrics, refusal
from scheduler_svc.drivers.driver import Driver, Ranking
from scheduler_svc.request import Request
from scheduler_svc.store.records import Batch, BatchAnswer, Candidate, Ended, Intent, Prepared, Ref
from scheduler_svc.table.table import HostTable

LOG = log.getLogger(__name__)

CHUNK = 100  # instances that one claim script takes


class Claimer(Protocol):
    """What the deciding core asks of the store."""

    def prepare(self, batch: Batch) -> BatchAnswer:
        """Claim for all intents, or none."""

    def abort(self, refs: Sequence[Ref]) -> list[Ended]:
        """End prepared claims."""

    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Tell how many live claims of a server group each host holds."""


Record = Callable[[str, Mapping[str, Any]], None]  # keeps the document of a decision, by request id


class Sight(Protocol):
    """What the deciding core sees of the hosts of one partition, and of the table that they are in."""

    number: int  # the partition's, in the table

    @property
    def table(self) -> HostTable:
        """The hosts as this worker knows them now."""

    def reach(self, position: int, timeout: float) -> bool:
        """Wait until the table holds all of the partition up to ``position``."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How hard a request is tried; see the options of [scheduler]."""

    rounds: int = 3
    ttl_ms: int = 60_000
    catch_up_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Asked:
    """One call for hosts: the same server for each of ``consumers``, under one attempt number."""

    request: Request
    consumers: Sequence[str]
    attempt: int = 1
    alternates: int = 2
    consumer_type: str = "INSTANCE"


@dataclass(frozen=True, slots=True)
class Decided:
    """What was claimed, in the consumers' order, and the state that it was decided on."""

    prepared: Sequence[Prepared]
    epoch: int
    position: int


@dataclass(frozen=True, slots=True)
class Look:
    """One ranking, and the state of the table that it was made on."""

    ranking: Ranking
    seed: int
    epoch: int
    position: int


class Selector:
    """Decides for one worker; safe to call from many threads."""

    def __init__(
        self, claimer: Claimer, sight: Sight, driver: Driver, patience: Patience, record: Record | None = None
    ) -> None:
        self._claimer = claimer
        self._sight = sight
        self.driver = driver  # replaced when the configuration is read anew
        self._patience = patience
        self._record_unasked = record  # where a refusal goes that the claim script, which records all others, never saw

    def select(self, ctxt: RequestContext, asked: Asked) -> Decided:
        """Choose and claim a host for every consumer, or for none.

        Repeating a call returns what it was answered, as long as those claims live. Raises NoValidHost, UnknownHost
        for a forced host that nobody knows, DeadlinePassed, ClaimEnded or ClaimConflict where the attempt is over or
        another one lives, NotReady and StoreUnavailable.
        """
        self._check_forced(asked)
        prepared: list[Prepared] = []
        made: list[Ref] = []
        epoch = position = rounds = 0
        for start in range(0, len(asked.consumers), CHUNK):
            try:
                look, answer, tried = self._place(ctxt, asked, start)
            except (errors.NoValidHost, errors.ClaimError):
                # Final. After an outage the caller asks again instead, and finds what is claimed; or it expires.
                self._give_back(made)
                raise
            # Verdicts tell what was claimed just now; what an earlier call had claimed is its caller's.
            made += [Ref(one.consumer, one.attempt) for one in answer.prepared if one.verdicts]
            prepared += answer.prepared
            epoch, position = look.epoch, look.position
            rounds += tried
        metrics.PLACED.inc(len(made))
        LOG.info("Selected hosts for %d instances in %d rounds", len(prepared), rounds)
        return Decided(prepared, epoch, position)

    def _place(self, ctxt: RequestContext, asked: Asked, start: int) -> tuple[Look, BatchAnswer, int]:
        """Serve one chunk in as many rounds as it takes and patience allows; return how many it took, too."""
        request = self._with_group(asked.request)
        refused: errors.GanttError = errors.NotReady(
            what="This scheduler worker", why="the store has begun a new epoch that it has not read yet"
        )
        for number in range(self._patience.rounds):
            self._drop_late(ctxt, start)
            look = self._look(request, len(asked.consumers[start : start + CHUNK]), start + number)
            batch = self._batch(ctxt, asked, start, look, number)
            self._drop_late(ctxt, start)
            answer = self._claimer.prepare(batch)
            self._learn(batch, answer)
            if answer.accepted:
                return look, answer, number + 1
            refusal.raise_barred(answer.prepared)
            verdicts = refusal.tried(batch.intents, answer.prepared)
            if answer.current:
                reasons = {**look.ranking.reasons, **refusal.lost(verdicts)}
                refused = refusal.no_valid_host(look.ranking.hosts, reasons)
                if not look.ranking.candidates:
                    break
            metrics.CONFLICTS.inc()
            request = _without(request, verdicts)
            patience = self._patience.catch_up_s
            self._sight.reach(answer.position, min(patience, ctxt.remaining(patience)))
        LOG.info("Refused: %s", refused)
        raise refused

    @staticmethod
    def _drop_late(ctxt: RequestContext, start: int) -> None:
        """Raise DeadlinePassed while nothing is claimed; a request half claimed is finished, to be asked for again."""
        if start == 0:
            ctxt.check_deadline()

    def _with_group(self, request: Request) -> Request:
        """Return the request with what the store knows of its group; whether that still holds the script judges."""
        if request.group is None:
            return request
        members = self._claimer.group_hosts(request.group.id)
        if request.together:
            return replace(request, beside=tuple(members))
        full = tuple(host for host, count in members.items() if count >= request.group.max_per_host)
        return replace(request, ruled_out=full)

    def _look(self, request: Request, count: int, salt: int) -> Look:
        seed = request.seed ^ salt
        with self._sight.table.reading() as view:
            began = time.perf_counter()
            ranking = self.driver.rank(view, request, count, seed)
            metrics.DECISION_SECONDS.observe(time.perf_counter() - began)
            return Look(ranking, seed, *view.standing(self._sight.number))

    def _batch(self, ctxt: RequestContext, asked: Asked, start: int, look: Look, number: int) -> Batch:
        consumers = asked.consumers[start : start + CHUNK]
        # Asked even without any candidate: the store may know this attempt from an earlier call, and keeps the record.
        ranked = look.ranking.candidates or [()] * len(consumers)
        candidates = {name: Candidate(name) for names in ranked for name in names}
        return Batch(
            request_id=asked.request.id,
            project=ctxt.project_id or "",
            user=ctxt.user_id or "",
            resources=asked.request.resources,
            intents=[
                Intent(consumer, asked.attempt, [candidates[name] for name in names])
                for consumer, names in zip(consumers, ranked, strict=True)
            ],
            epoch=look.epoch,
            position=look.position,
            ttl_ms=self._patience.ttl_ms,
            consumer_type=asked.consumer_type,
            group=asked.request.group,
            alternates=asked.alternates,
            record=self._record(asked, look, start, number),
        )

    def _record(self, asked: Asked, look: Look, start: int, number: int) -> Mapping[str, Any]:
        """Return the decision's document; the store adds its answer. Of a request in chunks the last one is kept."""
        return self._head(asked, look.epoch, look.position) | {
            "seed": look.seed,
            "chunk": start // CHUNK,
            "round": number,
            "hosts": look.ranking.hosts,
            "reasons": dict(look.ranking.reasons),
            "best": list(look.ranking.best),
        }

    def _head(self, asked: Asked, epoch: int, position: int) -> dict[str, Any]:
        """Return what every decision's document tells: who decided, on which state, what was asked."""
        return {
            "driver": type(self.driver).__name__,
            "epoch": epoch,
            "position": position,
            "instances": len(asked.consumers),
            "chunks": -(-len(asked.consumers) // CHUNK),
            "spec": asked.request.as_dict(),
        }

    def _learn(self, batch: Batch, answer: BatchAnswer) -> None:
        self._sight.table.apply_used(answer.used, answer.position, self._sight.number)
        for verdict, times in Counter(verdict for one in answer.prepared for verdict in one.verdicts).items():
            metrics.VERDICTS.labels(verdict=verdict).inc(times)
        if answer.accepted:
            metrics.FIRST_CHOICES.inc(sum(len(one.verdicts) == 1 for one in answer.prepared))

    def _give_back(self, refs: Sequence[Ref]) -> None:
        """End what this call claimed."""
        for start in range(0, len(refs), CHUNK):
            try:
                self._claimer.abort(refs[start : start + CHUNK])
            except errors.Unavailable as error:
                # The refusal is what the caller must hear; these claims end by their deadline.
                LOG.warning("Cannot give back %d claims, they expire: %s", len(refs) - start, error)
                return

    def _check_forced(self, asked: Asked) -> None:
        table = self._sight.table
        for name in asked.request.force_hosts:
            if not table.homes(name):
                unknown = errors.UnknownHost(name=name)
                self._explain(asked, unknown)
                raise unknown

    def _explain(self, asked: Asked, refused: errors.GanttError) -> None:
        """Record a refusal for which no host was looked at."""
        if self._record_unasked is None:
            return
        with self._sight.table.reading() as view:
            head = self._head(asked, *view.standing(self._sight.number))
        said = {"hosts": 0, "reasons": {}, "best": [], "verdicts": [], "outcome": "refused", "why": refused.sentence}
        try:
            self._record_unasked(asked.request.id, head | said)
        except errors.Unavailable as error:
            # The refusal is what the caller must hear.
            LOG.warning("Cannot record why request %s was refused: %s", asked.request.id, error)


def _without(request: Request, verdicts: Mapping[str, Verdict]) -> Request:
    """Return the request without hosts that its group rules out: the table does not know groups, the store does."""
    ruled_out = [host for host, verdict in verdicts.items() if verdict is Verdict.GROUP]
    return replace(request, ruled_out=(*request.ruled_out, *ruled_out)) if ruled_out else request
