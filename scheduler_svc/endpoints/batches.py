# SPDX-License-Identifier: Apache-2.0
"""select_batch's requests as calls for hosts, and what became of them as its answers."""

from collections.abc import Sequence
from dataclasses import replace

from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.model.request import check_uuids
from scheduler_svc.deciding.asked import Asked, Decided, Outcome
from scheduler_svc.deciding.partitioned import Chooser
from scheduler_svc.drivers.driver import WIDTH
from scheduler_svc.endpoints import bounds, decode, encode

LONGEST_ID = 255  # characters of a request id

_Wish = Asked | errors.GanttError


def select(
    ctxt: RequestContext, requests: objects.SelectionRequests, chooser: Chooser, *, most: int, most_instances: int
) -> objects.SelectionAnswers:
    """Have calls decided together; ``most`` are taken, with ``most_instances`` in all.

    Raises InvalidCount and what check_uuids raises, of all uuids together; what is wrong with one spec is its answer.
    """
    if len(requests.specs) > most:
        raise errors.InvalidCount(
            f"A batch may hold {most} requests at most, not {len(requests.specs)}; split it", most=most
        )
    bounds.check("alternates", requests.alternates, 0, WIDTH - 1)
    check_uuids([uuid for uuids in requests.uuids for uuid in uuids], most_instances)
    asked = [_asked(ctxt, chooser, requests, number) for number in range(len(requests.specs))]
    decided = iter(chooser.select_batch(ctxt, [one for one in asked if isinstance(one, Asked)]))
    outcomes = [next(decided) if isinstance(one, Asked) else one for one in asked]
    return _answers(requests.attempts, outcomes)


def _asked(ctxt: RequestContext, chooser: Chooser, requests: objects.SelectionRequests, number: int) -> _Wish:
    """Return one call, or what is wrong with it."""
    request_id, spec, uuids = requests.request_ids[number], requests.specs[number], requests.uuids[number]
    try:
        if not 1 <= len(request_id) <= LONGEST_ID or not request_id.isprintable():
            raise errors.InvalidRequest(why=f"a request id must be 1 to {LONGEST_ID} printable characters")
        if not uuids:
            raise errors.InvalidRequest(why=f"request {request_id} is for no instance")
        bounds.check("attempt", requests.attempts[number], 1)
        request = replace(decode.request(ctxt, spec), id=request_id)
        chooser.driver.check(request)
    except errors.InvalidRequest as error:
        return error
    return Asked(request, uuids, requests.attempts[number], requests.alternates, spec.consumer_type)


def _answers(attempts: Sequence[int], outcomes: Sequence[Outcome]) -> objects.SelectionAnswers:
    served = [number for number, outcome in enumerate(outcomes) if isinstance(outcome, Decided)]
    places = {number: place for place, number in enumerate(served)}
    refused = [None if isinstance(outcome, Decided) else outcome for outcome in outcomes]
    return objects.SelectionAnswers.of(
        selections=[
            encode.selections(attempts[number], outcome)
            for number, outcome in enumerate(outcomes)
            if isinstance(outcome, Decided)
        ],
        served=[places.get(number) for number in range(len(outcomes))],
        codes=[error.code if error else None for error in refused],
        reasons=[error.sentence if error else "" for error in refused],
    )
