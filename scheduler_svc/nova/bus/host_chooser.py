# SPDX-License-Identifier: Apache-2.0
"""Nova's select_destinations: translates the request, claims hosts, and answers with Nova's Selections."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.resources import transient
from rpcapi.resources.claims import UNTYPED
from rpcapi.resources.trees.tree import AllocationCandidate
from scheduler_svc.core.drivers.driver import MAX_CANDIDATES
from scheduler_svc.core.records import Allocations, GroupMembers
from scheduler_svc.core.request import FilterScope, SchedulingRequest
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.table.view import View
from scheduler_svc.nova.bus import exceptions, hosts, request_spec, selection
from scheduler_svc.nova.bus.allocations import AllocationReader
from scheduler_svc.nova.bus.hosts import NovaHost
from scheduler_svc.nova.bus.request_spec import NovaRequest
from scheduler_svc.scheduling import requests
from scheduler_svc.scheduling.calls import SelectionCall, ServedCall
from scheduler_svc.scheduling.intake import RequestIntake
from scheduler_svc.scheduling.unclaimed import UnclaimedRanker

# Function of (spec, project) that checks a spec against its recorded server group.
CompleteGroup = Callable[[objects.RequestSpec, str], objects.RequestSpec]


@dataclass(frozen=True, slots=True)
class NovaOptions:
    """Options of Nova's scheduler."""

    max_attempts: int = 3  # hosts that one build may try
    default_zone: str | None = "nova"  # zone of hosts without an aggregate
    falls_back: bool = True  # guests with dedicated CPUs may use VCPU of computes without PCPU


@dataclass(frozen=True, slots=True)
class Choice:
    """Host, allocation and alternates in the same cell for one instance."""

    host: NovaHost
    allocation: AllocationCandidate | None  # None if nothing is claimed
    alternates: Sequence[tuple[NovaHost, AllocationCandidate | None]] = ()


class _Pick(NamedTuple):
    name: str
    alternates: list[str]
    allocations: Allocations | None = None


class HostChooser:
    """Selects hosts for Nova. Thread-safe."""

    def __init__(
        self,
        intake: RequestIntake,
        ranker: UnclaimedRanker,
        table: Callable[[], HostTable],
        complete: CompleteGroup,
        options: NovaOptions = NovaOptions(),
    ) -> None:
        self._intake = intake
        self._ranker = ranker
        self._table = table
        self._complete = complete
        self._options = options

    def select(
        self, ctxt: RequestContext, spec: Any, uuids: Sequence[str] | None, *, with_alternates: bool
    ) -> list[Choice]:
        """Return one choice per instance, claimed all or none. Raises NovaError and like RequestIntake.select."""
        request = self._with_group(ctxt, request_spec.translate(spec))
        alternates = self._options.max_attempts - 1 if with_alternates else 0
        try:
            return self._select(ctxt, request, uuids, alternates)
        except errors.UnknownHost:
            raise exceptions.no_such_host(request.destination.host, request.destination.node) from None
        except errors.NoValidHost as error:
            # Hosts with a transient reason meet all other conditions, including Placement's.
            if not error.reasons or request.is_rebuild or transient.may_pass(error):
                raise
            if self._has_candidates(ctxt, request):
                raise
            raise exceptions.NoValidHost(reason=exceptions.NO_CANDIDATES) from error

    def _with_group(self, ctxt: RequestContext, request: NovaRequest) -> NovaRequest:
        project = request.group_project or _project(ctxt, request)
        fallback = request.fallback and self._complete(request.fallback, project)
        return replace(request, spec=self._complete(request.spec, project), fallback=fallback)

    def _has_candidates(self, ctxt: RequestContext, request: NovaRequest) -> bool:
        """Return whether Placement would find a host: Nova words its refusals accordingly."""
        specs = [request.spec, *([request.fallback] if request.fallback and self._options.falls_back else [])]
        for spec in specs:
            scheduling_request = self._scheduling_request(ctxt, request, spec)
            of_placement = replace(scheduling_request, scope=FilterScope.PLACEMENT, group=None)
            try:
                self._ranker.rank(ctxt, of_placement, 1, rewrites=True)
            except errors.NoValidHost:
                continue
            return True
        return False

    def _select(
        self, ctxt: RequestContext, request: NovaRequest, uuids: Sequence[str] | None, alternates: int
    ) -> list[Choice]:
        if request.is_rebuild or not uuids:  # Nova claims nothing either.
            scheduling_request = self._scheduling_request(ctxt, request, request.spec)
            count = len(uuids) if uuids else request.count
            candidates = self._ranker.rank(ctxt, scheduling_request, count, rewrites=not request.is_rebuild)
            return self._choices([_Pick(names[0], list(names)) for names in candidates], alternates, None)
        try:
            return self._claim(ctxt, request, request.spec, uuids, alternates)
        except errors.NoValidHost as error:
            # While the refusal may pass, hosts with dedicated CPUs come first: the call is repeated instead.
            if request.fallback is None or not self._options.falls_back or transient.may_pass(error):
                raise
        return self._claim(ctxt, request, request.fallback, uuids, alternates)

    def _claim(
        self,
        ctxt: RequestContext,
        request: NovaRequest,
        spec: objects.RequestSpec,
        uuids: Sequence[str],
        alternates: int,
    ) -> list[Choice]:
        scheduling_request = self._scheduling_request(ctxt, request, spec)
        call = SelectionCall(
            ctxt,
            scheduling_request,
            list(uuids),
            alternates=MAX_CANDIDATES - 1 if alternates else 0,
            consumer_type=UNTYPED,
            fresh=True,
            final=True,
        )
        return self._claimed_choices(call, self._intake.select(call), alternates)

    def _scheduling_request(
        self, ctxt: RequestContext, request: NovaRequest, spec: objects.RequestSpec
    ) -> SchedulingRequest:
        scheduling_request = requests.from_spec(
            spec, ctxt.request_id, _project(ctxt, request), request.user or ctxt.user_id or ""
        )
        table = self._table()
        with table.reading() as view:
            member_hosts = _row_names(view, request.member_hosts)
        spellings = (spelling for name in scheduling_request.force_hosts for spelling in table.spellings(name))
        forced = [name for name in spellings if table.find_partitions(name)]
        if scheduling_request.force_hosts and not forced:
            raise exceptions.no_such_host(request.destination.host, request.destination.node)
        return replace(
            scheduling_request,
            force_hosts=tuple(forced),
            group_members=GroupMembers(request.members, member_hosts),
            source_cell=request.destination.cell,
            stays_in_cell=request.destination.stays_in_cell,
            scope=_scope(request),
        )

    def _claimed_choices(self, call: SelectionCall, result: ServedCall, alternates: int) -> list[Choice]:
        may_use = _alternate_rule(call.request, result)
        picks = [
            _Pick(str(prepared.host), list(filter(may_use, prepared.alternates)), prepared.allocations)
            for prepared in result.prepared
        ]
        choices = self._choices(picks, alternates, call.request)
        cells = {choice.host.cell for choice in choices if len(choice.alternates) < alternates}
        if not cells or call.request.force_hosts:
            return choices
        selected = {pick.name for pick in picks}
        further = {
            cell: self._ranker.rank_in_cell(call, cell=cell, count=alternates, ignored=selected) for cell in cells
        }
        for pick, choice in zip(picks, choices, strict=True):
            pick.alternates.extend(filter(may_use, further.get(choice.host.cell, ())))
        return self._choices(picks, alternates, call.request) if any(further.values()) else choices

    def _choices(self, picks: Sequence[_Pick], alternates: int, request: SchedulingRequest | None) -> list[Choice]:
        """Return a choice per pick, with alternates that fit ``request``. Without a request, nothing is claimed."""
        selected = {pick.name for pick in picks}
        with self._table().reading() as view:
            reader = None if request is None else AllocationReader(view, request)
            return [_choice(view, reader, pick, selected, alternates) for pick in picks]

    def to_objects(self, choices: Sequence[Choice]) -> list[list[Mapping[str, Any]]]:
        """Return one list per instance: its Selection, then one Selection per alternate."""
        zone = self._options.default_zone
        return [
            [
                selection.to_primitive(host, allocation, zone)
                for host, allocation in ((choice.host, choice.allocation), *choice.alternates)
            ]
            for choice in choices
        ]


def _project(ctxt: RequestContext, request: NovaRequest) -> str:
    return request.project or ctxt.project_id or ""


def _choice(view: View, reader: AllocationReader | None, pick: _Pick, selected: set[str], alternates: int) -> Choice:
    host = hosts.find(view, pick.name)
    if host is None:
        raise errors.UnknownHost(name=pick.name)
    names = (name for name in dict.fromkeys(pick.alternates) if name not in selected)
    others = (other for other in (hosts.find(view, name) for name in names) if other and other.cell == host.cell)
    if reader is None:
        return Choice(host, None, [(other, None) for other in islice(others, alternates)])
    possible = ((other, reader.possible(other)) for other in others)
    fitting = (pair for pair in possible if pair[1] is not None)
    return Choice(host, reader.claimed(host, pick.allocations), list(islice(fitting, alternates)))


def _alternate_rule(request: SchedulingRequest, result: ServedCall) -> Callable[[str], bool]:
    """Return a test of alternates. Several instances of an affinity group may use only hosts of the group."""
    if not request.is_affinity or len(result.prepared) == 1:
        return lambda name: True
    return frozenset(result.group_hosts).__contains__


def _row_names(view: View, names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return ()
    return tuple(view.name(row) for row in np.flatnonzero(view.match_names(names)).tolist())


def _scope(request: NovaRequest) -> FilterScope:
    if request.is_rebuild:
        return FilterScope.REBUILD
    return FilterScope.FORCED if request.skips_filters else FilterScope.ALL
