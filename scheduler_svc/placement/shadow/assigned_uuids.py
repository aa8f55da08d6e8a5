# SPDX-License-Identifier: Apache-2.0
"""UUIDs that the other Placement assigns to new providers; gantt must use the same."""

import dataclasses
import json
import uuid
from collections.abc import Sequence

from scheduler_svc.placement.shadow.exchanges import ProxiedResponse, SentRequest
from scheduler_svc.placement.shadow.refused_writes import route_of

PROVIDERS = "/resource_providers"


def with_assigned_uuid(request: SentRequest, answer: ProxiedResponse) -> SentRequest:
    """Return the request for gantt; the creation of a provider gets the UUID from the answer."""
    if request.method != "POST" or route_of(request.target) != PROVIDERS:
        return request
    assigned = _uuid_of(answer.headers)
    try:
        document = json.loads(request.body)
    except ValueError:
        return request
    if assigned is None or not isinstance(document, dict) or "uuid" in document:
        return request
    return dataclasses.replace(request, body=json.dumps({**document, "uuid": assigned}).encode())


def _uuid_of(headers: Sequence[tuple[str, str]]) -> str | None:
    location = next((text for name, text in headers if name.lower() == "location"), "")
    last_part = location.rstrip("/").rpartition("/")[2]
    try:
        return str(uuid.UUID(last_part))
    except ValueError:
        return None
