# SPDX-License-Identifier: Apache-2.0
"""Writes that the other Placement acknowledged and gantt refused, by route and error code."""

import json
import re
from typing import NamedTuple

from scheduler_svc.placement.shadow.exchanges import ProxiedResponse, SentRequest

UNKNOWN = "unknown"
OTHER_METHOD = "other"

_METHODS = frozenset(("POST", "PUT", "PATCH", "DELETE"))
_CODE = re.compile(r"placement\.[a-z_.]{1,80}")
ROUTES = (  # routes with writes
    "/allocations",
    "/allocations/{consumer}",
    "/reshaper",
    "/resource_classes",
    "/resource_classes/{name}",
    "/resource_providers",
    "/resource_providers/{uuid}",
    "/resource_providers/{uuid}/aggregates",
    "/resource_providers/{uuid}/inventories",
    "/resource_providers/{uuid}/inventories/{resource_class}",
    "/resource_providers/{uuid}/traits",
    "/traits/{name}",
)
# The key is the number of parts, then the fixed parts, which alternate with variable parts.
_ROUTES = {(route.count("/"), *route.split("/")[1::2]): route for route in ROUTES}
_COLLECTIONS = frozenset(route.split("/")[1] for route in ROUTES)


class RefusedWrite(NamedTuple):
    """Refused write. ``route`` has {...} for variable parts; ``code`` is gantt's error code or UNKNOWN."""

    method: str
    route: str
    status: int
    code: str


def refused_write(request: SentRequest, answer: ProxiedResponse) -> RefusedWrite:
    method = request.method if request.method in _METHODS else OTHER_METHOD
    return RefusedWrite(method, route_of(request.target), answer.status, _code(answer.body))


def route_of(target: str) -> str:
    parts = target.partition("?")[0].strip("/").split("/")
    start = next((index for index, part in enumerate(parts) if part in _COLLECTIONS), len(parts))
    parts = parts[start:]
    return _ROUTES.get((len(parts), *parts[::2]), UNKNOWN)


def _code(body: bytes) -> str:
    try:
        code = json.loads(body)["errors"][0]["code"]
    except (ValueError, LookupError, TypeError):
        return UNKNOWN
    return code if isinstance(code, str) and _CODE.fullmatch(code) else UNKNOWN
