# SPDX-License-Identifier: Apache-2.0
"""Handlers of usages, which are sums of allocations."""

from collections import Counter

from scheduler_svc.placement.http.allocations import NO_TYPE, TYPE_SINCE
from scheduler_svc.placement.http.messages import Request, Response, json_response
from scheduler_svc.placement.http.model import PlacementModel
from scheduler_svc.store.allocations import Usage

ALL_TYPES = "all"


def show(model: PlacementModel, _request: Request, uuid: str) -> Response:
    """Return a provider's usage of each resource class in its inventories."""
    provider = model.directory.get(uuid)
    usages = {name: provider.used.get(name, 0) for name in provider.inventories}
    return json_response({"resource_provider_generation": provider.generation, "usages": usages}, provider.changed_ms)


def show_project(model: PlacementModel, request: Request) -> Response:
    """Return a project's usage; since 1.38 by consumer type, with the number of consumers."""
    project, user = request.parameter("project_id") or "", request.parameter("user_id")
    consumer_type = request.parameter("consumer_type")
    if request.version >= TYPE_SINCE and consumer_type != ALL_TYPES:
        usages = model.store.usages(project, user, "" if consumer_type == NO_TYPE else consumer_type)
        return json_response({"usages": {name or NO_TYPE: _document(usage) for name, usage in usages.items()}})
    usages = model.store.usages(project, user)
    count = sum(usage.consumers for usage in usages.values())
    total = dict(sum((Counter(usage.amounts) for usage in usages.values()), Counter()))
    if request.version < TYPE_SINCE:
        return json_response({"usages": total})
    return json_response({"usages": {ALL_TYPES: _document(Usage(count, total))} if usages else {}})


def _document(usage: Usage) -> dict[str, int]:
    return {"consumer_count": usage.consumers, **usage.amounts}
