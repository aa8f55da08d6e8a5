# SPDX-License-Identifier: Apache-2.0
"""Handlers of resource classes: standard ones, and custom ones of the deployment."""

from typing import Any

from scheduler_svc.placement.http import schemas
from scheduler_svc.placement.http.messages import Request, Response, json_response, validate
from scheduler_svc.placement.http.model import PlacementModel
from scheduler_svc.placement.model.catalogue import RESOURCE_CLASSES
from scheduler_svc.placement.model.problems import bad_request, conflict


def list_all(model: PlacementModel, request: Request) -> Response:
    names = model.catalogue.names(RESOURCE_CLASSES)
    return json_response({"resource_classes": [_document(request, name) for name in names]})


def show(model: PlacementModel, request: Request, name: str) -> Response:
    return json_response(_document(request, name), model.catalogue.require(RESOURCE_CLASSES, name))


def create(model: PlacementModel, request: Request) -> Response:
    name = request.json(schemas.RESOURCE_CLASS)["name"]
    if not model.catalogue.create(RESOURCE_CLASSES, name):
        raise conflict(f"Conflicting resource class already exists: {name}")
    return Response(201, location=_path(request, name))


def ensure(model: PlacementModel, request: Request, name: str) -> Response:
    validate({"name": name}, schemas.RESOURCE_CLASS)
    status = 201 if model.catalogue.create(RESOURCE_CLASSES, name) else 204
    return Response(status, location=_path(request, name))


def rename(model: PlacementModel, request: Request, name: str) -> Response:
    new_name = request.json(schemas.RESOURCE_CLASS)["name"]
    model.catalogue.require(RESOURCE_CLASSES, name)
    if name in RESOURCE_CLASSES.standard:
        raise bad_request(f"Cannot update standard resource class {name}")
    if not model.catalogue.create(RESOURCE_CLASSES, new_name):
        raise conflict(f"Resource class already exists: {new_name}")
    if not model.catalogue.delete(RESOURCE_CLASSES, name):
        model.catalogue.delete(RESOURCE_CLASSES, new_name)
        raise conflict(f"Resource class {name} is in use and cannot be renamed.")
    return json_response(_document(request, new_name))


def delete(model: PlacementModel, _request: Request, name: str) -> Response:
    model.catalogue.require(RESOURCE_CLASSES, name)
    if name in RESOURCE_CLASSES.standard:
        raise bad_request(f"Error in delete resource class: Cannot delete standard resource class {name}")
    if not model.catalogue.delete(RESOURCE_CLASSES, name):
        raise conflict(f"Error in delete resource class: Class is in use in inventory: {name}")
    return Response(204)


def _path(request: Request, name: str) -> str:
    return f"{request.prefix}/resource_classes/{name}"


def _document(request: Request, name: str) -> dict[str, Any]:
    return {"name": name, "links": [{"rel": "self", "href": _path(request, name)}]}
