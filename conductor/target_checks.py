# SPDX-License-Identifier: Apache-2.0
"""Dry runs of requests for a target: an unknown, disabled or full host is refused before anything is changed."""

from collections.abc import Iterable

from conductor.service_clients import ServiceClients
from rpcapi import errors, objects
from rpcapi.context import RequestContext

MAX_CHECKS = 10  # dry runs of one call, which has as many different requests


def check_target(
    clients: ServiceClients, ctxt: RequestContext, target: str, specs: Iterable[objects.RequestSpec]
) -> None:
    """Raise UnknownHost or NoValidHost where the target could not take one instance of one of the requests now."""
    checked: list[objects.RequestSpec] = []
    for spec in specs:
        if spec.obj_to_primitive() not in [other.obj_to_primitive() for other in checked[-MAX_CHECKS:]]:
            checked.append(spec)
    for spec in checked[:MAX_CHECKS]:
        document = clients.scheduler.dry_run(ctxt, spec).document
        if document["outcome"] == "refused":
            raise errors.NoValidHost(reason=f"{target} takes none of them: {document.get('why')}")
