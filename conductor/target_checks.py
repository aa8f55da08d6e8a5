# SPDX-License-Identifier: Apache-2.0
"""Dry runs of requests for a certain host: one that could not be met is refused before anything is changed."""

from collections.abc import Iterable
from typing import Any

import oslo_messaging as messaging

from conductor.service_clients import ServiceClients, summarize_error
from rpcapi import errors, objects
from rpcapi.context import RequestContext

MAX_CHECKS = 10  # dry runs of one call, which has as many different requests


def check_target(
    clients: ServiceClients,
    ctxt: RequestContext,
    target: str,
    specs: Iterable[objects.RequestSpec],
    *,
    takes_all: bool = False,
) -> None:
    """Raise UnknownHost or NoValidHost where the target could not take one instance of each request now.

    ``takes_all``: all the instances of each request, whose ``specs`` are equal. Raises Unavailable or a subclass if the
    scheduler does not answer.
    """
    requests: list[tuple[objects.RequestSpec, Any, int]] = []
    for spec in specs:
        primitive = spec.obj_to_primitive()
        number = next((number for number, (_spec, other, _count) in enumerate(requests) if other == primitive), None)
        if number is not None:
            same, _primitive, count = requests[number]
            requests[number] = (same, primitive, count + 1)
        elif len(requests) < MAX_CHECKS:
            requests.append((spec, primitive, 1))
    for spec, _primitive, count in requests:
        refused = f"{target} does not take {count} of them" if takes_all else f"{target} takes none of them"
        check_fits(clients, ctxt, spec, refused, count=count if takes_all else 1)


def check_fits(
    clients: ServiceClients, ctxt: RequestContext, spec: objects.RequestSpec, refused: str, **options: Any
) -> None:
    """Raise NoValidHost, whose text begins with ``refused``, where ``spec`` finds no host; else as ``check_target``.

    ``options`` are further arguments of the scheduler's method ``dry_run``.
    """
    try:
        document = clients.scheduler.dry_run(ctxt, spec, **options).document
    except messaging.MessagingException as error:
        raise errors.Unavailable(what="The scheduler", why=summarize_error(error)) from error
    if document.get("outcome") == "refused":
        why = str(document.get("why") or "").removeprefix("No valid host: ")
        raise errors.NoValidHost(reason=f"{refused}: {why}", reasons=document.get("reasons") or {})
