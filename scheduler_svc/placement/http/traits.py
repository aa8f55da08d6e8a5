# SPDX-License-Identifier: Apache-2.0
"""Handlers of traits: the standard traits, the deployment's custom traits, and a resource provider's traits."""

from collections.abc import Callable

from scheduler_svc.placement.http import schemas
from scheduler_svc.placement.http.messages import Request, Response, json_response, now_ms
from scheduler_svc.placement.http.model import PlacementModel
from scheduler_svc.placement.model.catalogue import TRAITS
from scheduler_svc.placement.model.problems import STALE, bad_request, check_generation, conflict
from scheduler_svc.store.providers.changes import ProviderState, SetTraits


def list_all(model: PlacementModel, request: Request) -> Response:
    is_selected = _selection(request)
    names = model.catalogue.names(TRAITS)
    associated = _associated(request)
    if associated is not None:
        used = model.catalogue.names_in_use(TRAITS)
        names = [name for name in names if (name in used) == associated]
    return json_response({"traits": [name for name in names if is_selected(name)]})


def show(model: PlacementModel, _request: Request, name: str) -> Response:
    return Response(204, modified_ms=model.catalogue.require(TRAITS, name))


def create(model: PlacementModel, request: Request, name: str) -> Response:
    if not schemas.CUSTOM_TRAIT.is_valid(name):
        raise bad_request(
            "The trait is invalid. A valid trait must be no longer than 255 characters, start with the prefix "
            '"CUSTOM_" and use following characters: "A"-"Z", "0"-"9" and "_"'
        )
    status = 201 if model.catalogue.create(TRAITS, name) else 204
    created_ms = model.catalogue.find(TRAITS, name)
    modified_ms = now_ms() if created_ms is None else created_ms
    return Response(status, location=f"{request.prefix}/traits/{name}", modified_ms=modified_ms)


def delete(model: PlacementModel, _request: Request, name: str) -> Response:
    if name in TRAITS.standard:
        raise bad_request(f"Cannot delete standard trait {name}.")
    model.catalogue.require(TRAITS, name)
    if not model.catalogue.delete(TRAITS, name):
        raise conflict(f"The trait {name} is in use by a resource provider.")
    return Response(204)


def show_of_provider(model: PlacementModel, _request: Request, uuid: str) -> Response:
    return _respond_provider(model.directory.get(uuid))


def replace_of_provider(model: PlacementModel, request: Request, uuid: str) -> Response:
    """Replace all traits. An invalid body is refused before an unknown provider."""
    body = request.json(schemas.TRAITS)
    provider = model.directory.get(uuid)
    generation = body["resource_provider_generation"]
    check_generation(provider, generation, STALE)
    model.catalogue.check(TRAITS, body["traits"])
    change = SetTraits(provider.id, body["traits"], generation)
    return _respond_provider(model.directory.change(change))


def remove_from_provider(model: PlacementModel, _request: Request, uuid: str) -> Response:
    model.directory.change(SetTraits(model.directory.get(uuid).id, ()))
    return Response(204)


def _selection(request: Request) -> Callable[[str], bool]:
    """Return the test of parameter ``name``: ``in:NAME,...`` or ``startswith:PREFIX``. Raises Problem 400."""
    value = request.parameter("name")
    if value is None:
        return lambda _: True
    operator, colon, operand = value.partition(":")
    if not colon:
        raise bad_request(
            "Badly formatted name parameter. Expected name query string parameter in form: "
            f'?name=[in|startswith]:[name1,name2|prefix]. Got: "{value}"'
        )
    match operator:
        case "in":
            return set(operand.split(",")).__contains__
        case "startswith":
            return lambda name: name.startswith(operand)
        case _:
            return lambda _: True


def _associated(request: Request) -> bool | None:
    value = request.parameter("associated")
    if value is None:
        return None
    if value.lower() not in ("true", "false"):
        raise bad_request('The query parameter "associated" only accepts "true" or "false"')
    return value.lower() == "true"


def _respond_provider(provider: ProviderState) -> Response:
    document = {
        "traits": sorted(provider.document["traits"]),
        "resource_provider_generation": provider.generation,
    }
    return json_response(document, provider.changed_ms)
