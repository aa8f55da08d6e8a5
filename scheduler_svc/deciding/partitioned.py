# SPDX-License-Identifier: Apache-2.0
"""The decision over several partitions: which of them serves a call, and what to do when it cannot."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from oslo_log import log

from rpcapi import errors
from rpcapi.context import RequestContext
from scheduler_svc import metrics
from scheduler_svc.deciding import refusal
from scheduler_svc.deciding.asked import Asked, Decided, Outcome, Refused
from scheduler_svc.deciding.pins import Pins
from scheduler_svc.deciding.prospects import Prospects
from scheduler_svc.deciding.select import Selector
from scheduler_svc.drivers.driver import Driver
from scheduler_svc.partitions import Partition, Partitions

LOG = log.getLogger(__name__)

LINGER_S = 120.0  # longer than one call goes on after its partition was agreed on
GROUP_TTL_MS = 24 * 3600 * 1000  # how long a group without members keeps its partition
SEVERAL = "there are several partitions"
REASON_GROUP = "server group is in another partition"


class Chooser(Protocol):
    """Decides for one worker, in one partition or over several."""

    driver: Driver

    def select(self, ctxt: RequestContext, asked: Asked) -> Decided:
        """Choose and claim a host for every consumer, or for none."""

    def select_batch(self, ctxt: RequestContext, asked: Sequence[Asked]) -> list[Outcome]:
        """Do that for many calls; return for each what it was given, or the error that ``select`` would raise."""


class PartitionedSelector:
    """Has each call served in one partition; safe to call from many threads.

    The first to decide a call records its partition, and whoever repeats it goes there, as long as claims of the
    first may live: no consumer has claims in two partitions. A partition that refused holds nothing of the call, and
    another may be recorded instead. A server group is served where its members are.
    """

    def __init__(self, partitions: Partitions, make: Callable[[Partition], Selector], claim_ttl_s: float) -> None:
        """``make`` gives the selector of a partition; ``claim_ttl_s`` is the life of a claim that is not confirmed."""
        self._partitions = partitions
        self._selectors: Mapping[str, Selector] = {each.name: make(each) for each in partitions}
        self._claim_ttl_s = claim_ttl_s
        self._pin_ms = round(1000 * (claim_ttl_s + LINGER_S))
        self._pins = Pins(list(partitions), claim_ttl_s + LINGER_S)

    @property
    def driver(self) -> Driver:
        """The driver of all partitions."""
        return self._selectors[self._partitions.own.name].driver

    @driver.setter
    def driver(self, driver: Driver) -> None:
        for each in self._selectors.values():
            each.driver = driver

    def select(self, ctxt: RequestContext, asked: Asked) -> Decided:
        """Do what Selector.select does, in the partition that is best, or that was recorded for the call.

        Raises StoreUnavailable too where what the call may hold cannot be known, as its partition is away.
        """
        ctxt.check_deadline()
        away = [each.name for each in self._partitions if each.presence.away]
        if len(away) == len(self._partitions):
            raise errors.StoreUnavailable(why=f"none of the partitions {', '.join(away)} answers")
        if asked.request.group is not None:
            home = self._home(asked, asked.request.group.id, away)
            if home is not None:
                return self._select_at_home(ctxt, asked, home)
        return self._select(ctxt, asked, away)

    def select_batch(self, ctxt: RequestContext, asked: Sequence[Asked]) -> list[Outcome]:
        """Serve one after the other: which partition serves a call depends on what the one before left there."""
        found: list[Outcome] = []
        for one in asked:
            try:
                found.append(self.select(ctxt, one))
            except errors.GanttError as error:
                found.append(error)
        metrics.ONE_BY_ONE.labels(reason=SEVERAL).inc(len(found))
        return found

    def _select(self, ctxt: RequestContext, asked: Asked, away: list[str]) -> Decided:
        prospects = Prospects(asked, list(self._selectors.values()), away)
        served = self._agree(asked, prospects.best() or self._any_but(away))
        refused: dict[str, Refused] = {}
        while served not in refused:
            if served in away:
                self._check_over(asked, served)
                refused[served] = Refused(refusal.no_valid_host(0, {}), 0, {})
            else:
                outcome = self._place(ctxt, asked, served, prospects)
                if isinstance(outcome, Decided):
                    return outcome
                if outcome.held or not isinstance(outcome.error, errors.NoValidHost):
                    raise outcome.error
                refused[served] = outcome
            following = prospects.best(but=refused)
            if following is None:
                break
            left, served = served, self._agree(asked, following, instead_of=served)
            LOG.info("Partition %s cannot serve request %s, trying %s", left, asked.request.id, served)
        raise prospects.refusal(refused)

    def _select_at_home(self, ctxt: RequestContext, asked: Asked, home: str) -> Decided:
        """Serve a call of a server group that has members: nowhere else but where they are."""
        outcome = self._place(ctxt, asked, home)
        if isinstance(outcome, Decided):
            return outcome
        if not isinstance(outcome.error, errors.NoValidHost):
            raise outcome.error
        here = self._partitions.find(home).replica
        elsewhere = here.whole.hosts - here.census.hosts
        raise refusal.no_valid_host(outcome.hosts + elsewhere, {**outcome.reasons, REASON_GROUP: elsewhere})

    def _place(
        self, ctxt: RequestContext, asked: Asked, partition: str, prospects: Prospects | None = None
    ) -> Decided | Refused:
        narrowed = replace(asked, request=replace(asked.request, partition=partition))
        look = prospects.look(partition) if prospects else None
        try:
            return self._selectors[partition].place(ctxt, narrowed, look)
        except errors.StoreUnavailable:
            self._partitions.find(partition).presence.lost()
            raise

    def _check_over(self, asked: Asked, partition: str) -> None:
        """Raise StoreUnavailable while claims of an earlier call may live in a partition that is away."""
        away_s = self._partitions.find(partition).presence.away_s
        if asked.request.group is not None or away_s < self._claim_ttl_s:
            raise errors.StoreUnavailable(
                why=f"partition {partition!r}, which serves this request, is away; what it may hold is not over yet"
            )

    def _home(self, asked: Asked, group_id: str, away: Iterable[str]) -> str | None:
        """Return the partition in which a server group has members, None where it has none that is known of."""
        members = {}
        for each in self._partitions:
            if each.name not in away:
                members[each.name] = self._members(each, group_id)
        home = max(members, key=lambda name: members[name])
        if not members[home]:
            return None
        served = self._agree(asked, home)
        if members.get(served):
            return served
        # It was recorded where it has no members, or none that can be asked about.
        return self._agree(asked, home, instead_of=served)

    @staticmethod
    def _members(partition: Partition, group_id: str) -> int:
        try:
            return sum(partition.store.group_hosts(group_id).values())
        except errors.StoreUnavailable:
            partition.presence.lost()
            raise

    def _agree(self, asked: Asked, wanted: str, instead_of: str | None = None) -> str:
        """Return the partition that serves the call; one that is not configured any more is replaced."""
        group = asked.request.group
        key = f"consumer:{asked.consumers[0]}" if group is None else f"group:{group.id}"
        ttl_ms = self._pin_ms if group is None else GROUP_TTL_MS
        served = self._pins.agree(key, wanted, ttl_ms, instead_of)
        if served not in self._selectors:
            served = self._pins.agree(key, wanted, ttl_ms, instead_of=served)
        return served

    def _any_but(self, away: Iterable[str]) -> str:
        """Return the own partition, or another that answers where it does not."""
        return next(each.name for each in (self._partitions.own, *self._partitions) if each.name not in away)
