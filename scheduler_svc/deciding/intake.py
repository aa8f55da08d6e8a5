# SPDX-License-Identifier: Apache-2.0
"""What is done to each request once, before hosts are looked at: its hints are looked up, and prefilters rewrite it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from oslo_log import log

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.model.checks.hints import first, listed
from scheduler_svc.deciding.asked import Asked, Decided, Outcome
from scheduler_svc.deciding.decision import unseen
from scheduler_svc.deciding.partitioned import Chooser
from scheduler_svc.drivers.driver import Driver
from scheduler_svc.partitions import Partitions
from scheduler_svc.prefilters import pipeline
from scheduler_svc.prefilters.prefilter import Prefilter
from scheduler_svc.request import Request

LOG = log.getLogger(__name__)

LOCATING = ("same_host", "different_host")  # hints that name instances
SOURCE = "source_partition"  # the hint by which a move tells where its instance is


class Intake:
    """Makes requests ready to be decided; safe to call from many threads."""

    def __init__(self, partitions: Partitions, prefilters: Sequence[Prefilter]) -> None:
        self._partitions = partitions
        self.prefilters = prefilters  # replaced when the configuration is read anew

    def take(self, request: Request) -> Request:
        """Return the request as it is decided.

        Raises NoValidHost, and InvalidSpec, where a prefilter knows that no host could do, and StoreUnavailable where
        no partition tells where the instances of its hints are.
        """
        if request.hints:
            source = first(request.hints.get(SOURCE))
            request = replace(
                request, located=self._located(request), source_partition=source if isinstance(source, str) else None
            )
        with self._partitions.own.replica.whole.reading() as view:
            return pipeline.run(self.prefilters, request, view.aggregates)

    def _located(self, request: Request) -> Mapping[str, str]:
        """Return on which host each instance is that a hint names, of those that are on one."""
        named = {uuid for hint in LOCATING for uuid in listed(request.hints.get(hint, []))}
        if not named:
            return {}
        found: dict[str, str] = {}
        away: list[errors.StoreUnavailable] = []
        asked = [each for each in self._partitions if not each.presence.away] or [self._partitions.own]
        for each in asked:
            try:
                found |= each.store.hosts_of(sorted(named))
            except errors.StoreUnavailable as error:
                each.presence.lost()
                away.append(error)
        # Where a partition is away nothing can be claimed, so whom it holds does not matter.
        if len(away) == len(asked):
            raise away[0]
        return found


class IntakeChooser:
    """Decides as ``chooser`` does, on requests that ``intake`` took."""

    def __init__(self, chooser: Chooser, intake: Intake, partitions: Partitions) -> None:
        self._chooser = chooser
        self._intake = intake
        self._partitions = partitions

    @property
    def driver(self) -> Driver:
        """The driver that decides."""
        return self._chooser.driver

    @driver.setter
    def driver(self, driver: Driver) -> None:
        self._chooser.driver = driver

    def select(self, ctxt: RequestContext, asked: Asked) -> Decided:
        """Choose and claim a host for every consumer, or for none; raises what Intake.take raises too."""
        taken = self._taken(asked)
        try:
            return self._chooser.select(ctxt, taken)
        except errors.PluginFailed as error:
            self._record(taken, error)
            raise

    def select_batch(self, ctxt: RequestContext, asked: Sequence[Asked]) -> list[Outcome]:
        """Do that for many calls; return for each what it was given, or the error that ``select`` would raise."""
        taken = [self._tried(one) for one in asked]
        ready = [one for one in taken if isinstance(one, Asked)]
        decided = self._chooser.select_batch(ctxt, ready)
        for one, outcome in zip(ready, decided, strict=True):
            if isinstance(outcome, errors.PluginFailed):
                self._record(one, outcome)
        following = iter(decided)
        return [next(following) if isinstance(one, Asked) else one for one in taken]

    def _tried(self, asked: Asked) -> Asked | errors.GanttError:
        try:
            return self._taken(asked)
        except errors.GanttError as error:
            return error

    def _taken(self, asked: Asked) -> Asked:
        try:
            return replace(asked, request=self._intake.take(asked.request))
        except (errors.NoValidHost, errors.InvalidSpec) as error:
            self._record(asked, error)
            raise

    def _record(self, asked: Asked, refused: errors.GanttError) -> None:
        """Record a refusal for which no host was looked at."""
        own = self._partitions.own
        document = unseen(asked, own.replica.standing, self.driver.name_for(asked.request), refused)
        try:
            own.store.record_decision(asked.request.id, document)
        except errors.Unavailable as error:
            # The refusal is what the caller must hear.
            LOG.warning("Cannot record why request %s was refused: %s", asked.request.id, error)
