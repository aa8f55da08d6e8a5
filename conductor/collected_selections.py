# SPDX-License-Identifier: Apache-2.0
"""Batching of selections: concurrent requests reach the scheduler in one call."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from oslo_config import cfg
from oslo_log import log

from conductor import metrics
from rpcapi import context, errors, objects
from rpcapi.clients.scheduler import SchedulerAPI, SchedulerBackend
from rpcapi.context import RequestContext
from rpcapi.rounds import RoundLimits, Rounds

LOG = log.getLogger(__name__)

CALLS_AT_ONCE = 4  # Concurrent calls: a slow request must not block the others.
MAX_INSTANCES = 64  # instances per call; a selection of this many is sent alone


@dataclass(frozen=True, slots=True)
class _CollectedCall:
    ctxt: RequestContext
    spec: objects.RequestSpec
    uuids: list[str]
    attempt: int
    alternates: int
    fresh: bool
    moves: Sequence[Mapping[str, Any] | None]


class CollectingSchedulerAPI(SchedulerAPI):
    """Thread-safe scheduler client that combines concurrent selections into one call.

    Each selection stays all or nothing. A call is sent at once while fewer than CALLS_AT_ONCE calls are in progress.
    """

    def __init__(self, conf: cfg.ConfigOpts, transport: Any, backend: SchedulerBackend | None = None) -> None:
        super().__init__(conf, transport, backend)
        limits = RoundLimits(MAX_INSTANCES, MAX_INSTANCES // 4, CALLS_AT_ONCE)
        self._rounds = Rounds[_CollectedCall, objects.Selections | None](self._send, limits)

    def select_destinations(
        self,
        ctxt: RequestContext,
        spec: objects.RequestSpec,
        uuids: list[str],
        attempt: int = 1,
        alternates: int = 2,
        *,
        fresh: bool = False,
        moves: Sequence[Mapping[str, Any] | None] = (),
    ) -> objects.Selections:
        selection = _CollectedCall(ctxt, spec, uuids, attempt, alternates, fresh, moves)
        selections: objects.Selections | None = None
        if len(uuids) < MAX_INSTANCES:
            selections = self._rounds.call(selection, ctxt.project_id or "", len(uuids))
        return selections or self._send_alone(selection)

    def _send_alone(self, selection: _CollectedCall) -> objects.Selections:
        return super().select_destinations(
            selection.ctxt,
            selection.spec,
            selection.uuids,
            selection.attempt,
            selection.alternates,
            fresh=selection.fresh,
            moves=selection.moves,
        )

    def _send(self, calls: Sequence[_CollectedCall]) -> Sequence[objects.Selections | Exception | None]:
        """Return the answer or error of each selection; None if it must be sent alone."""
        metrics.SELECTIONS_PER_CALL.observe(len(calls))
        if len(calls) == 1:
            return [self._send_alone(calls[0])]
        uuids = Counter(uuid for call in calls for uuid in call.uuids)
        is_distinct = [all(uuids[uuid] == 1 for uuid in call.uuids) for call in calls]
        together = list(compress(calls, is_distinct))
        if not together:
            return [None] * len(calls)
        try:
            requests = objects.SelectionRequests.of(
                request_ids=[str(call.ctxt.request_id) for call in together],
                specs=[call.spec for call in together],
                uuids=[call.uuids for call in together],
                attempts=[call.attempt for call in together],
                alternates=max(call.alternates for call in together),
                projects=[call.ctxt.project_id or "" for call in together],
                users=[call.ctxt.user_id or "" for call in together],
                deadlines=[call.ctxt.deadline for call in together],
                fresh=[call.fresh for call in together],
                moves=[list(call.moves) for call in together],
            )
            answers = self.select_batch(_common_context(together), requests, details=True)
        except errors.InvalidRequest as error:  # a selection is invalid, or the batch is too large
            LOG.info("Sending %d selections one by one: %s", len(calls), error)
            return [None] * len(calls)
        outcomes = map(answers.outcome, range(len(together)))
        return [next(outcomes) if is_sent else None for is_sent in is_distinct]


def _common_context(calls: Sequence[_CollectedCall]) -> RequestContext:
    """Return a context with the latest deadline of the calls, or no deadline if a call lacks one."""
    ctxt, deadlines = context.new(), [call.ctxt.deadline for call in calls]
    if all(deadlines):
        ctxt.deadline = max(deadlines)
    return ctxt
