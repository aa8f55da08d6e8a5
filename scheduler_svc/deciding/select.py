# SPDX-License-Identifier: Apache-2.0
"""The decision in one partition: rank hosts on the table, claim them in the store, and decide anew what was lost."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from oslo_log import log

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.model.claims import Answer, Verdict
from scheduler_svc import metrics
from scheduler_svc.candidates.ranking import rank
from scheduler_svc.deciding import refusal
from scheduler_svc.deciding.asked import Asked, Decided, Refused
from scheduler_svc.deciding.claimer import CHUNK, Claimer, Record
from scheduler_svc.deciding.decision import Decision, Look, unseen
from scheduler_svc.deciding.sight import Sight
from scheduler_svc.drivers.driver import Driver, Ranking
from scheduler_svc.request import Request
from scheduler_svc.store.records import BatchAnswer, Prepared, Ref
from scheduler_svc.table.table import HostTable
from scheduler_svc.table.view import View

LOG = log.getLogger(__name__)

# What is answered of a claim that is over, and can no longer be revived.
_OVER = (Answer.ABORTED, Answer.EXPIRED, Answer.RELEASED)


@dataclass(frozen=True, slots=True)
class Patience:
    """How hard a request is tried; see the options of [scheduler]."""

    rounds: int = 3
    ttl_ms: int = 60_000
    catch_up_s: float = 2.0


class Placed(NamedTuple):
    """What one chunk was given, on which decision, and in which round."""

    decision: Decision
    answer: BatchAnswer


class Selector:
    """Decides in one partition for one worker; safe to call from many threads."""

    def __init__(
        self, claimer: Claimer, sight: Sight, driver: Driver, patience: Patience, record: Record | None = None
    ) -> None:
        self._claimer = claimer
        self._sight = sight
        self.driver = driver  # replaced when the configuration is read anew
        self._patience = patience
        self._record_unasked = record  # where a refusal goes that the claim script, which records all others, never saw

    @property
    def partition(self) -> str:
        """The partition that it decides in."""
        return self._sight.partition

    @property
    def number(self) -> int:
        """The partition's number in the table."""
        return self._sight.number

    @property
    def table(self) -> HostTable:
        """The hosts as this worker knows them now."""
        return self._sight.table

    @property
    def heard_s(self) -> float:
        """How many seconds ago the partition's store told what is new, or that nothing is."""
        return self._sight.heard_s

    def select(self, ctxt: RequestContext, asked: Asked) -> Decided:
        """Choose and claim a host for every consumer, or for none.

        Repeating a call returns what it was answered, as long as those claims live. Raises NoValidHost, UnknownHost
        for a forced host that nobody knows, DeadlinePassed, ClaimEnded or ClaimConflict where the attempt is over or
        another one lives, NotReady and StoreUnavailable.
        """
        outcome = self.place(ctxt, asked)
        if isinstance(outcome, Refused):
            raise outcome.error
        return outcome

    def place(self, ctxt: RequestContext, asked: Asked, look: Look | None = None) -> Decided | Refused:
        """Do what ``select`` does, but return a refusal; ``look``, where given, is the one to begin with."""
        self._check_forced(asked)
        prepared: list[Prepared] = []
        made: list[Ref] = []
        rounds = 0
        for start in range(0, len(asked.consumers), CHUNK):
            try:
                placed = self._place(ctxt, asked, start, None if start else look)
            except errors.ClaimError:
                # Final. After an outage the caller asks again instead, and finds what is claimed; or it expires.
                self._give_back(made)
                raise
            if isinstance(placed, Refused):
                LOG.info("Refused: %s", placed.error)
                held = len(prepared) > len(made)
                return replace(placed, held=not self._give_back(made) or held or placed.held)
            # Verdicts tell what was claimed just now; what an earlier call had claimed is its caller's.
            made += [Ref(one.consumer, one.attempt) for one in placed.answer.prepared if one.verdicts]
            prepared += placed.answer.prepared
            at = placed.decision.at
            rounds += placed.decision.round + 1
        metrics.PLACED.inc(len(made))
        # No more than that: who asked logs it under the same request id, `explain` tells the rest, and a line that is
        # written costs a fifteenth of the call.
        LOG.debug("Selected hosts for %d instances in %d rounds", len(prepared), rounds)
        return Decided(prepared, *at, self._sight.partition)

    def look(self, request: Request, count: int, salt: int = 0) -> Look:
        """Rank hosts for ``count`` instances, of all partitions that the request allows."""
        seed = request.seed ^ salt
        with self._sight.table.reading() as view:
            began = time.perf_counter()
            ranking = rank(self.driver, view, request, count, seed)
            metrics.DECISION_SECONDS.observe(time.perf_counter() - began)
            homes = view.homes({name for names in ranking.candidates for name in names})
            # To name hosts is dear, and asked only where a request is refused.
            fallen = {} if ranking.candidates else {**self.driver.fallen(view, request), **ranking.samples}
            return Look(ranking, seed, view.standings, homes, _seen(view, ranking, homes), samples=fallen)

    def _place(self, ctxt: RequestContext, asked: Asked, start: int, look: Look | None) -> Placed | Refused:
        """Serve one chunk in as many rounds as it takes and patience allows."""
        request = self.informed(asked.request)
        count = len(asked.consumers[start : start + CHUNK])
        refused = Refused(
            errors.NotReady(
                what="This scheduler worker", why="the store has begun a new epoch that it has not read yet"
            ),
            hosts=0,
            reasons={},
            held=True,
        )
        lost: Mapping[str, Verdict] = {}
        for number in range(self._patience.rounds):
            self._drop_late(ctxt, start)
            if look is None or (request.group is not None and not look.informed):
                look = self.look(request, count, start + number)
            decision = Decision(
                asked,
                start,
                number,
                look,
                look.standings[self._sight.number],
                self.driver.name_for(request),
                self._sight.heard_s,
                lost,
            )
            batch = decision.batch(ctxt, self._patience.ttl_ms)
            self._drop_late(ctxt, start)
            answer = self._claimer.prepare(batch)
            self._learn(answer)
            if answer.accepted:
                return Placed(decision, answer)
            refusal.raise_barred(answer.prepared, self._sight.partition)
            verdicts = refusal.tried(batch.intents, answer.prepared)
            lost = refusal.told(lost, verdicts)
            if answer.current:
                reasons = {**look.ranking.reasons, **refusal.lost(verdicts)}
                held = any(one.answer is Answer.PREPARED for one in answer.prepared)
                error = refusal.no_valid_host(look.ranking.hosts, reasons)
                refused = Refused(error, look.ranking.hosts, reasons, held)
                if not look.ranking.candidates:
                    break
            metrics.CONFLICTS.inc()
            request, look = _without(request, verdicts), None
            patience = self._patience.catch_up_s
            self._sight.reach(answer.position, min(patience, ctxt.remaining(patience)))
        return refused

    @staticmethod
    def _drop_late(ctxt: RequestContext, start: int) -> None:
        """Raise DeadlinePassed while nothing is claimed; a request half claimed is finished, to be asked for again."""
        if start == 0:
            ctxt.check_deadline()

    def informed(self, request: Request) -> Request:
        """Return the request with what the store knows of its group; whether that still holds the script judges."""
        if request.group is None:
            return request
        members = self._claimer.group_hosts(request.group.id)
        if request.together:
            return replace(request, members=members, beside=tuple(members))
        most = request.most_per_host  # None where the policy is a wish
        full = tuple(host for host, count in members.items() if most is not None and count >= most)
        return replace(request, members=members, ruled_out=full)

    def _learn(self, answer: BatchAnswer) -> None:
        self._sight.table.apply_used(answer.used, answer.position, self._sight.number)
        for verdict, times in Counter(verdict for one in answer.prepared for verdict in one.verdicts).items():
            metrics.VERDICTS.labels(verdict=verdict).inc(times)
        if answer.accepted:
            metrics.FIRST_CHOICES.inc(sum(_is_first_choice(one) for one in answer.prepared))

    def _give_back(self, refs: Sequence[Ref]) -> bool:
        """End what this call claimed; tell whether all of it has ended."""
        ended = []
        for start in range(0, len(refs), CHUNK):
            try:
                ended += self._claimer.abort(refs[start : start + CHUNK])
            except errors.Unavailable as error:
                # The refusal is what the caller must hear; these claims end by their deadline.
                LOG.warning("Cannot give back %d claims, they expire: %s", len(refs) - start, error)
                return False
        return all(one.answer in _OVER for one in ended)

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
            at = view.standing(self._sight.number)
        try:
            self._record_unasked(asked.request.id, unseen(asked, at, self.driver.name_for(asked.request), refused))
        except errors.Unavailable as error:
            # The refusal is what the caller must hear.
            LOG.warning("Cannot record why request %s was refused: %s", asked.request.id, error)


def _seen(view: View, ranking: Ranking, homes: Mapping[str, int]) -> dict[str, int]:
    """Return as of which position the sums of candidates are known, where that is after their partition's.

    Where several providers are to give something it is that of the one known least.
    """
    givers = {name: {name} for name in homes}
    for its in ranking.allocations:
        for name, allocations in its.items():
            givers[name] |= allocations.keys()
    since = {name: min(view.sums_since(each, homes[name]) for each in its) for name, its in givers.items()}
    return {name: at for name, at in since.items() if at}


def _is_first_choice(one: Prepared) -> bool:
    """Tell whether nothing was lost to others: what was passed over would have been no better any more."""
    return bool(one.verdicts) and set(one.verdicts) <= {Verdict.FITS, Verdict.PASSED}


def _without(request: Request, verdicts: Mapping[str, Verdict]) -> Request:
    """Return the request without hosts that its group rules out: the table does not know groups, the store does."""
    ruled_out = [host for host, verdict in verdicts.items() if verdict is Verdict.GROUP]
    return replace(request, ruled_out=(*request.ruled_out, *ruled_out)) if ruled_out else request
