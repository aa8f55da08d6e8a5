# SPDX-License-Identifier: Apache-2.0
"""Conversion of select_batch requests to selection calls, and of their results to answers."""

from collections.abc import Sequence
from dataclasses import replace

from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.validation.instances import check_uuids
from scheduler_svc.core.drivers.driver import MAX_CANDIDATES
from scheduler_svc.endpoints import bounds, decode, encode
from scheduler_svc.scheduling.calls import SelectionCall, SelectionOutcome, SelectionResult
from scheduler_svc.scheduling.intake import RewritingSelector

LONGEST_ID = 255  # characters of a request id

_CallOrError = SelectionCall | errors.GanttError


def select(
    ctxt: RequestContext,
    requests: objects.SelectionRequests,
    selector: RewritingSelector,
    *,
    max_requests: int,
    max_instances: int,
) -> objects.SelectionAnswers:
    """Select hosts for several requests together; at most ``max_requests`` with ``max_instances`` in total.

    Raises InvalidCount and what check_uuids raises for all uuids together; an invalid spec gets an error as its answer.
    """
    if len(requests.specs) > max_requests:
        raise errors.InvalidCount(
            f"A batch may contain at most {max_requests} requests, got {len(requests.specs)}; split it",
            most=max_requests,
        )
    bounds.check("alternates", requests.alternates, 0, MAX_CANDIDATES - 1)
    check_uuids([uuid for uuids in requests.uuids for uuid in uuids], max_instances)
    calls = [_decode_call(ctxt, requests, number) for number in range(len(requests.specs))]
    results = iter(selector.select_batch(ctxt, [call for call in calls if isinstance(call, SelectionCall)]))
    outcomes = [next(results) if isinstance(call, SelectionCall) else call for call in calls]
    return _answers(requests.attempts, outcomes)


def _decode_call(ctxt: RequestContext, requests: objects.SelectionRequests, number: int) -> _CallOrError:
    """Return one selection call, or the error of an invalid request."""
    request_id, spec, uuids = requests.request_ids[number], requests.specs[number], requests.uuids[number]
    try:
        if not 1 <= len(request_id) <= LONGEST_ID or not request_id.isprintable():
            raise errors.InvalidRequest(why=f"a request id must be 1 to {LONGEST_ID} printable characters")
        if not uuids:
            raise errors.InvalidRequest(why=f"request {request_id} has no instances")
        bounds.check("attempt", requests.attempts[number], 1)
        request = replace(decode.request(ctxt, spec), id=request_id)
    except errors.InvalidRequest as error:
        return error
    return SelectionCall(request, uuids, requests.attempts[number], requests.alternates, spec.consumer_type)


def _answers(attempts: Sequence[int], outcomes: Sequence[SelectionOutcome]) -> objects.SelectionAnswers:
    selected_numbers = [number for number, outcome in enumerate(outcomes) if isinstance(outcome, SelectionResult)]
    places = {number: place for place, number in enumerate(selected_numbers)}
    errors_by_call = [None if isinstance(outcome, SelectionResult) else outcome for outcome in outcomes]
    return objects.SelectionAnswers.of(
        selections=[
            encode.selections(attempts[number], outcome)
            for number, outcome in enumerate(outcomes)
            if isinstance(outcome, SelectionResult)
        ],
        served=[places.get(number) for number in range(len(outcomes))],
        codes=[error.code if error else None for error in errors_by_call],
        reasons=[error.sentence if error else "" for error in errors_by_call],
    )
