# SPDX-License-Identifier: Apache-2.0
"""Resource classes: the standard ones and the custom ones of a deployment."""

from datetime import UTC, datetime
from typing import Any

from scheduler_svc.endpoints.placement.messages import Request, Response, json_response
from scheduler_svc.endpoints.placement.microversions import Microversion
from scheduler_svc.endpoints.placement.routes import Route
from scheduler_svc.endpoints.placement.schemas import names as schemas
from scheduler_svc.placement.catalogue import RESOURCE_CLASSES, Catalogue
from scheduler_svc.placement.problems import bad_request, conflict, not_found

SINCE = Microversion(1, 2)
LAST_RENAME = Microversion(1, 6)
CREATE_BY_PUT_SINCE = Microversion(1, 7)


class ResourceClassHandlers:
    """Lists, shows, creates, renames and deletes resource classes."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def routes(self) -> list[Route]:
        """Return the routes of resource classes."""
        collection, item, rule = "/resource_classes", "/resource_classes/{name}", "resource_classes:"
        return [
            Route("GET", collection, self.list_all, rule + "list", SINCE, gives_json=True),
            Route("POST", collection, self.create, rule + "create", SINCE, takes_json=True),
            Route("GET", item, self.show, rule + "show", SINCE, gives_json=True),
            Route("PUT", item, self.rename, rule + "update", SINCE, LAST_RENAME, takes_json=True),
            Route("PUT", item, self.ensure, rule + "update", CREATE_BY_PUT_SINCE),
            Route("DELETE", item, self.delete, rule + "delete", SINCE),
        ]

    def list_all(self, request: Request) -> Response:
        """Return all resource classes."""
        names = self._catalogue.names(RESOURCE_CLASSES)
        return json_response({"resource_classes": [_document(request, name) for name in names]}, datetime.now(UTC))

    def show(self, request: Request, name: str) -> Response:
        """Return one resource class."""
        created = self._catalogue.find(RESOURCE_CLASSES, name)
        if created is None:
            raise _no_class(name)
        return json_response(_document(request, name), created)

    def create(self, request: Request) -> Response:
        """Create a custom class."""
        name = request.json(schemas.RESOURCE_CLASS)["name"]
        if not self._catalogue.create(RESOURCE_CLASSES, name):
            raise conflict(f"Conflicting resource class already exists: {name}")
        return Response(201, location=_path(request, name))

    def ensure(self, request: Request, name: str) -> Response:
        """Create a custom class, unless it exists."""
        request.validate({"name": name}, schemas.RESOURCE_CLASS)
        status = 201 if self._catalogue.create(RESOURCE_CLASSES, name) else 204
        return Response(status, location=_path(request, name))

    def rename(self, request: Request, name: str) -> Response:
        """Give an unused custom class another name."""
        new_name = request.json(schemas.RESOURCE_CLASS)["name"]
        if self._catalogue.find(RESOURCE_CLASSES, name) is None:
            raise _no_class(name)
        if name in RESOURCE_CLASSES.standard:
            raise bad_request(f"Cannot update standard resource class {name}")
        if not self._catalogue.create(RESOURCE_CLASSES, new_name):
            raise conflict(f"Resource class already exists: {new_name}")
        if not self._catalogue.delete(RESOURCE_CLASSES, name):
            self._catalogue.delete(RESOURCE_CLASSES, new_name)
            raise conflict(f"Resource class {name} is in use and cannot be renamed.")
        return json_response(_document(request, new_name))

    def delete(self, _request: Request, name: str) -> Response:
        """Delete a custom class of which no provider has inventory."""
        if self._catalogue.find(RESOURCE_CLASSES, name) is None:
            raise _no_class(name)
        if name in RESOURCE_CLASSES.standard:
            raise bad_request(f"Error in delete resource class: Cannot delete standard resource class {name}")
        if not self._catalogue.delete(RESOURCE_CLASSES, name):
            raise conflict(f"Error in delete resource class: Class is in use in inventory: {name}")
        return Response(204)


def _path(request: Request, name: str) -> str:
    return f"{request.prefix}/resource_classes/{name}"


def _document(request: Request, name: str) -> dict[str, Any]:
    return {"name": name, "links": [{"rel": "self", "href": _path(request, name)}]}


def _no_class(name: str) -> Exception:
    return not_found(f"No such resource class {name}.")
