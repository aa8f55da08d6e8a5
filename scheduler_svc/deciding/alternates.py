# SPDX-License-Identifier: Apache-2.0
"""Claims on hosts that the caller names: the alternates of an earlier decision. No ranking, no other hosts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.model.claims import Verdict
from rpcapi.model.tree_search import Miss
from scheduler_svc.candidates.finder import Finder
from scheduler_svc.deciding.claimer import CHUNK, Keeper
from scheduler_svc.deciding.sight import Sight
from scheduler_svc.filters import audited, pipeline
from scheduler_svc.filters.sieve import Filter
from scheduler_svc.request import Request
from scheduler_svc.store.records import Allocations, Batch, BatchAnswer, Candidate, Intent


class Asked(NamedTuple):
    """The intents that the store was given, and what it answered."""

    intents: Sequence[Intent]
    answer: BatchAnswer


def _as_it_is(request: Request) -> Request:
    return request


class Alternates:
    """Prepares claims on given candidates.

    They were chosen on a state that may be minutes old. Where the store says so (a candidate's eligibility changed, or
    the epoch is over), or a tree gave nothing, they are filtered again on what this worker has read by then, and asked
    for once more as of that. Room, and whether a host has been audited, are left to the store, which knows it best.
    """

    def __init__(
        self,
        claimer: Keeper,
        sight: Sight,
        filters: Sequence[Filter],
        catch_up_s: float,
        take: Callable[[Request], Request] = _as_it_is,
    ) -> None:
        """``take`` makes a request ready to be filtered: Intake.take."""
        self._claimer = claimer
        self._sight = sight
        self.filters = filters  # replaced when the configuration is read anew
        self._catch_up_s = catch_up_s
        self._take = take

    def prepare(self, ctxt: RequestContext, request: Request, batch: Batch) -> list[Asked]:
        """Serve ``batch``, of each CHUNK intents all or none; return what was asked for at last, and the answers.

        A replaced attempt cannot be brought back, so what an earlier chunk was given stays when a later one is
        refused. Raises DeadlinePassed, NotReady and StoreUnavailable; asking again is answered the same.
        """
        chunks = [batch.intents[start : start + CHUNK] for start in range(0, len(batch.intents), CHUNK)]
        return [self._prepare(ctxt, request, replace(batch, intents=chunk)) for chunk in chunks or [()]]

    def _prepare(self, ctxt: RequestContext, request: Request, batch: Batch) -> Asked:
        searched = self._searched(request, batch)
        answer = self._claimer.prepare(searched)
        stale = any(Verdict.STALE in one.verdicts for one in answer.prepared)
        if answer.accepted or (answer.current and not stale and _kept(searched, batch)):
            return Asked(searched.intents, answer)
        self._sight.reach(answer.position, min(self._catch_up_s, ctxt.remaining(self._catch_up_s)))
        ctxt.check_deadline()
        ending = () if _kept(searched, batch) else self._ending(batch)
        renewed = self._renewed(self._taken(request), batch, ending)
        return Asked(renewed.intents, self._claimer.prepare(renewed))

    def _searched(self, request: Request, batch: Batch) -> Batch:
        """Return the batch with what trees can give by what is asked of them once it is rewritten.

        Where hosts are flat there is nothing to give otherwise, and the request need not be made ready.
        """
        with self._sight.table.reading() as view:
            if not Finder(view, request).is_needed:
                return batch
        taken = self._taken(request)
        return _emptied(batch) if taken is None else self._fitted(taken, batch)

    def _ending(self, batch: Batch) -> list[Allocations]:
        """Return what the attempts hold that this batch takes the place of, where it may share in what they share in.

        The store ends them in the same verb: a pool that is full with them is not full for their successors.
        """
        with self._sight.table.reading() as view:
            if not len(view.trees.sharing):
                return []
        replaced = [(one.consumer, one.replaces) for one in batch.intents if one.replaces is not None]
        return [
            claim.allocations
            for consumer, attempt in replaced
            for claim in self._claimer.claims(consumer=consumer)[0]
            if claim.attempt == attempt
        ]

    def _taken(self, request: Request) -> Request | None:
        """Return the request ready to be filtered, None where no host will do any more."""
        try:
            return self._take(request)
        except (errors.NoValidHost, errors.InvalidSpec):
            return None

    def _renewed(self, request: Request | None, batch: Batch, ending: Sequence[Allocations]) -> Batch:
        if request is None:
            return _emptied(batch)
        number = self._sight.number
        with self._sight.table.reading() as view:
            passes = pipeline.run(self.filters, view, request, pardoned=audited.REASONS).passes
            epoch, position = view.standing(number)

            def eligible(candidate: Candidate) -> bool:
                row = view.row(candidate.host, number)
                return row is not None and bool(passes[row])

            intents = [
                replace(intent, candidates=[each for each in intent.candidates if eligible(each)])
                for intent in batch.intents
            ]
        return self._fitted(request, replace(batch, intents=intents, epoch=epoch, position=position), ending)

    def _fitted(self, request: Request, batch: Batch, ending: Sequence[Allocations] = ()) -> Batch:
        """Return the batch with what each instance is to be given of its candidates' trees, as they are now.

        ``ending`` is in use there, and will not be.
        """
        number = self._sight.number
        with self._sight.table.reading() as view:
            finder = Finder(view, request)
            if not finder.is_needed:
                return batch
            for each in ending:
                finder.give_back(each)
            rows = {each.host: view.row(each.host, number) for one in batch.intents for each in one.candidates}
            whole = not request.groups  # what a tree does not give as it is known here, its root may give by now
            return replace(batch, intents=[_fit(finder, rows, intent, whole) for intent in batch.intents])


def _kept(searched: Batch, batch: Batch) -> bool:
    """Tell whether no candidate was left out, as one is whose tree is not known well enough yet."""
    pairs = zip(searched.intents, batch.intents, strict=True)
    return all(len(one.candidates) == len(each.candidates) for one, each in pairs)


def _emptied(batch: Batch) -> Batch:
    """Return the batch without candidates: what it was given before the store tells all the same."""
    return replace(batch, intents=[replace(intent, candidates=()) for intent in batch.intents])


def _fit(finder: Finder, rows: Mapping[str, int | None], intent: Intent, whole: bool) -> Intent:
    """Return an intent with what its candidates can give it, less those that can give nothing unless as a whole."""
    candidates: list[Candidate] = []
    taken = False
    for candidate in intent.candidates:
        row = rows[candidate.host]
        offer = Miss.NONE if row is None else finder.offer(row)
        if row is not None and not isinstance(offer, Miss):
            candidates.append(replace(candidate, allocations=offer.allocations))
            if not taken:
                finder.take(row)
                taken = True
        elif whole:
            candidates.append(candidate)
    return replace(intent, candidates=candidates)
