# SPDX-License-Identifier: Apache-2.0
"""Handler of the reshaper, which moves inventories with their allocations to different providers, all or none."""

from rpcapi.resources.inventory import Inventory
from scheduler_svc.placement.http import schemas
from scheduler_svc.placement.http.allocations import consumer_requests
from scheduler_svc.placement.http.inventories import parse_inventories
from scheduler_svc.placement.http.messages import Request, Response
from scheduler_svc.placement.http.model import PlacementModel
from scheduler_svc.placement.http.schemas import of_version
from scheduler_svc.placement.model import reshaping


def reshape(model: PlacementModel, request: Request) -> Response:
    body = request.json(of_version(schemas.RESHAPE, request.version))
    generations = {uuid: part["resource_provider_generation"] for uuid, part in body["inventories"].items()}
    requests = consumer_requests(body["allocations"], request, model)

    def read_inventories() -> dict[str, dict[str, Inventory]]:
        parts = body["inventories"].items()
        return {uuid: parse_inventories(uuid, part["inventories"], request) for uuid, part in parts}

    reshaping.reshape(model.consumers, generations, read_inventories, requests)
    return Response(204)
