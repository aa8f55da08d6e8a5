# SPDX-License-Identifier: Apache-2.0
"""Conversion between select_batch messages and selection calls."""

from collections.abc import Callable, Sequence

from rpcapi import errors, objects
from rpcapi.context import MAX_ID, RequestContext
from rpcapi.validation.instances import check_uuids
from scheduler_svc.core.drivers.driver import MAX_CANDIDATES
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.endpoints import decode, encode
from scheduler_svc.scheduling.calls import CallOrError, SelectionCall, SelectionOutcome, ServedCall
from scheduler_svc.store import validation

ConvertSpec = Callable[[RequestContext, objects.RequestSpec], SchedulingRequest]


def decode_calls(
    ctxt: RequestContext,
    requests: objects.SelectionRequests,
    convert: ConvertSpec,
    *,
    max_requests: int,
    max_instances: int,
) -> list[CallOrError]:
    """Decode requests; an invalid one becomes its error. Raises InvalidCount, and the errors of check_uuids."""
    if len(requests.specs) > max_requests:
        raise errors.InvalidCount.of_message(
            f"A batch may contain at most {max_requests} requests, got {len(requests.specs)}; split it",
            most=max_requests,
        )
    validation.check_number("alternates", requests.alternates, 0, MAX_CANDIDATES - 1)
    check_uuids([uuid for uuids in requests.uuids for uuid in uuids], max_instances)
    return [_decode_call(ctxt, requests, number, convert) for number in range(len(requests.specs))]


def _decode_call(
    ctxt: RequestContext, requests: objects.SelectionRequests, number: int, convert: ConvertSpec
) -> CallOrError:
    request_id, spec, uuids = requests.request_ids[number], requests.specs[number], requests.uuids[number]
    try:
        own = _context(ctxt, requests, number)
        if not uuids:
            raise errors.InvalidRequest(why=f"request {request_id} has no instances")
        validation.check_number("attempt", requests.attempts[number], 1, validation.MAX_NUMBER)
        request = convert(own, spec)
        moves = decode.moves(requests.moves[number] if requests.moves else (), len(uuids))
    except errors.GanttError as error:
        return error
    return SelectionCall(
        own,
        request,
        uuids,
        requests.attempts[number],
        requests.alternates,
        spec.consumer_type,
        fresh=bool(requests.fresh and requests.fresh[number]),
        moves=moves,
    )


def _context(ctxt: RequestContext, requests: objects.SelectionRequests, number: int) -> RequestContext:
    """Return the call's context with the request's own id, project, user and deadline."""
    request_id = requests.request_ids[number]
    if not 1 <= len(request_id) <= MAX_ID or not request_id.isprintable():
        raise errors.InvalidRequest(why=f"a request id must be 1 to {MAX_ID} printable characters")
    columns = {"project_id": requests.projects, "user_id": requests.users, "deadline": requests.deadlines}
    values = {name: column[number] for name, column in columns.items() if column}
    try:
        return RequestContext.from_dict({**ctxt.to_dict(), "request_id": request_id, **values}, overwrite=False)
    except errors.MalformedObject as error:
        raise errors.InvalidRequest(why=error.sentence) from error


def answers(
    attempts: Sequence[int], outcomes: Sequence[SelectionOutcome], *, details: bool
) -> objects.SelectionAnswers:
    """Encode the outcomes; ``details`` adds the fields of errors."""
    selected_numbers = [number for number, outcome in enumerate(outcomes) if isinstance(outcome, ServedCall)]
    indexes = {number: index for index, number in enumerate(selected_numbers)}
    errors_by_call = [None if isinstance(outcome, ServedCall) else outcome for outcome in outcomes]
    return objects.SelectionAnswers.of(
        selections=[
            encode.selections(attempts[number], outcome)
            for number, outcome in enumerate(outcomes)
            if isinstance(outcome, ServedCall)
        ],
        served=[indexes.get(number) for number in range(len(outcomes))],
        codes=[error.code if error else None for error in errors_by_call],
        reasons=[error.sentence if error else "" for error in errors_by_call],
        details=[error.kwargs if error else {} for error in errors_by_call] if details else [],
    )
