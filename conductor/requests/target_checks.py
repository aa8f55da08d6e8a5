# SPDX-License-Identifier: Apache-2.0
"""Dry runs for a requested host, so that an impossible request is refused before any change.

A request that a transient reason refuses is accepted: its selection is repeated until the reason has passed.
"""

import json
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any

from conductor.collaborators import ServiceClients, answered
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.resources import transient

MAX_CHECKS = 10  # dry runs per call; further distinct requests are not checked


def check_target(
    clients: ServiceClients,
    ctxt: RequestContext,
    target: str,
    specs: Iterable[objects.RequestSpec],
    *,
    takes_all: bool = False,
) -> None:
    """Raise UnknownHost or NoValidHost unless the target fits one instance of each spec, now or soon.

    ``takes_all``: Instances with equal specs must fit together. Also raises Unavailable or a subclass.
    """
    texts = [(json.dumps(spec.obj_to_primitive(), sort_keys=True), spec) for spec in specs]
    counts = Counter(text for text, _spec in texts)
    for text, spec in islice(dict(texts).items(), MAX_CHECKS):
        count = counts[text] if takes_all else 1
        refused = f"{target} does not take {count} of them" if takes_all else f"{target} takes none of them"
        check_fits(clients, ctxt, spec, refused, count=count)


def check_fits(
    clients: ServiceClients, ctxt: RequestContext, spec: objects.RequestSpec, refused: str, **options: Any
) -> None:
    """Raise NoValidHost, its reason beginning with ``refused``, if no host fits for a reason that stays.

    ``options`` are arguments of ``dry_run``.
    """
    document = answered("The scheduler", clients.scheduler.dry_run, ctxt, spec, **options).document
    if document.get("outcome") == "refused":
        why = str(document.get("why") or "").removeprefix("No valid host: ")
        refusal = errors.NoValidHost(reason=f"{refused}: {why}", reasons=document.get("reasons") or {})
        if not transient.may_pass(refusal):
            raise refusal
