# SPDX-License-Identifier: Apache-2.0
"""Operations of the Placement API, and the router from paths and methods to them."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from scheduler_svc.placement.http import (
    aggregates,
    allocation_candidates,
    allocations,
    health,
    inventories,
    providers,
    reshaper,
    resource_classes,
    root,
    schemas,
    traits,
    usages,
)
from scheduler_svc.placement.http.authentication import HEALTH_PATH
from scheduler_svc.placement.http.messages import Response
from scheduler_svc.placement.http.microversions import LATEST, OLDEST
from scheduler_svc.placement.http.schemas import Versioned

# Called with the PlacementModel, the Request, and the variable parts of the path.
Handler = Callable[..., Response]


class ApiRoute(NamedTuple):
    """Operation of the API, with its requirements on requests.

    Attributes:
        path: Template with {...} for variable parts.
        rule: Policy rule; None allows everybody.
        since, until: First and last minor microversion.
        outside: Status of the refusal in other microversions.
        takes_json, gives_json: Whether the request and response bodies are JSON.
        type_first: Whether content types are checked before the microversion.
        of_project: Whether the rule may allow users of the project in parameter ``project_id``.
        query: Schemas of the query parameters; None ignores parameters.
    """

    method: str
    path: str
    handler: Handler
    rule: str | None
    since: int = OLDEST
    until: int = LATEST
    outside: int = 404
    takes_json: bool = False
    gives_json: bool = False
    type_first: bool = False
    of_project: bool = False
    query: Versioned | None = None


class Match(NamedTuple):
    """Routes of a path by method, and the path's variable parts. A method has a route per range of microversions."""

    methods: Mapping[str, list[ApiRoute]]
    variables: tuple[str, ...]

    @property
    def path(self) -> str:
        return next(iter(self.methods.values()))[0].path


class Router:
    """Finder of routes by path: fixed and variable parts alternate, so number and fixed parts identify a route."""

    def __init__(self, routes: Iterable[ApiRoute]) -> None:
        self._paths: dict[tuple[int, tuple[str, ...]], dict[str, list[ApiRoute]]] = {}
        for route in routes:
            parts = route.path.split("/")[1:]
            methods = self._paths.setdefault((len(parts), tuple(parts[::2])), {})
            methods.setdefault(route.method, []).append(route)

    def find(self, path: str) -> Match | None:
        parts = (path or "/").split("/")[1:]
        methods = self._paths.get((len(parts), tuple(parts[::2])))
        variables = tuple(parts[1::2])
        return Match(methods, variables) if methods is not None and all(variables) else None


PROVIDER = "/resource_providers/{uuid}"
AGGREGATES, ALLOCATIONS, TRAITS = f"{PROVIDER}/aggregates", f"{PROVIDER}/allocations", f"{PROVIDER}/traits"
INVENTORIES, INVENTORY = f"{PROVIDER}/inventories", f"{PROVIDER}/inventories/{{resource_class}}"
CLASSES, CLASS = "/resource_classes", "/resource_classes/{name}"

ROUTES = (
    ApiRoute("GET", "/", root.show, None),
    ApiRoute("GET", HEALTH_PATH, health.show, None),
    ApiRoute("HEAD", HEALTH_PATH, health.show, None),
    ApiRoute(
        *("GET", "/resource_providers", providers.list_all, "resource_providers:list"),
        gives_json=True,
        query=schemas.PROVIDERS_QUERY,
    ),
    ApiRoute("POST", "/resource_providers", providers.create, "resource_providers:create", takes_json=True),
    ApiRoute("GET", PROVIDER, providers.show, "resource_providers:show", gives_json=True),
    ApiRoute("PUT", PROVIDER, providers.update, "resource_providers:update", takes_json=True),
    ApiRoute("DELETE", PROVIDER, providers.delete, "resource_providers:delete"),
    ApiRoute("GET", INVENTORIES, inventories.list_all, "resource_providers:inventories:list", gives_json=True),
    ApiRoute("POST", INVENTORIES, inventories.create, "resource_providers:inventories:create", takes_json=True),
    ApiRoute("PUT", INVENTORIES, inventories.replace, "resource_providers:inventories:update", takes_json=True),
    ApiRoute("DELETE", INVENTORIES, inventories.delete_all, "resource_providers:inventories:delete", 5, outside=405),
    ApiRoute("GET", INVENTORY, inventories.show, "resource_providers:inventories:show", gives_json=True),
    ApiRoute("PUT", INVENTORY, inventories.update, "resource_providers:inventories:update", takes_json=True),
    ApiRoute("DELETE", INVENTORY, inventories.delete, "resource_providers:inventories:delete"),
    ApiRoute("GET", ALLOCATIONS, allocations.show_provider, "resource_providers:allocations:list", gives_json=True),
    ApiRoute("POST", "/allocations", allocations.replace_many, "allocations:manage", 13, takes_json=True),
    ApiRoute("GET", "/allocations/{consumer}", allocations.show, "allocations:list", gives_json=True),
    ApiRoute("PUT", "/allocations/{consumer}", allocations.replace, "allocations:update", takes_json=True),
    ApiRoute("DELETE", "/allocations/{consumer}", allocations.delete, "allocations:delete"),
    ApiRoute(
        *("GET", "/allocation_candidates", allocation_candidates.list_all, "allocation_candidates:list", 10),
        gives_json=True,
        query=schemas.CANDIDATES_QUERY,
    ),
    ApiRoute("POST", "/reshaper", reshaper.reshape, "reshaper:reshape", 30, takes_json=True),
    ApiRoute("GET", f"{PROVIDER}/usages", usages.show, "resource_providers:usages", gives_json=True),
    ApiRoute(
        *("GET", "/usages", usages.show_project, "usages", 9),
        gives_json=True,
        of_project=True,
        query=schemas.USAGES_QUERY,
    ),
    ApiRoute(
        *("GET", AGGREGATES, aggregates.show, "resource_providers:aggregates:list", 1), gives_json=True, type_first=True
    ),
    ApiRoute(
        *("PUT", AGGREGATES, aggregates.replace, "resource_providers:aggregates:update", 1),
        takes_json=True,
        type_first=True,
    ),
    ApiRoute("GET", TRAITS, traits.show_of_provider, "resource_providers:traits:list", 6, gives_json=True),
    ApiRoute("PUT", TRAITS, traits.replace_of_provider, "resource_providers:traits:update", 6, takes_json=True),
    ApiRoute("DELETE", TRAITS, traits.remove_from_provider, "resource_providers:traits:delete", 6),
    ApiRoute("GET", "/traits", traits.list_all, "traits:list", 6, gives_json=True, query=schemas.TRAITS_QUERY),
    ApiRoute("GET", "/traits/{name}", traits.show, "traits:show", 6),
    ApiRoute("PUT", "/traits/{name}", traits.create, "traits:update", 6),
    ApiRoute("DELETE", "/traits/{name}", traits.delete, "traits:delete", 6),
    ApiRoute("GET", CLASSES, resource_classes.list_all, "resource_classes:list", 2, gives_json=True),
    ApiRoute("POST", CLASSES, resource_classes.create, "resource_classes:create", 2, takes_json=True),
    ApiRoute("GET", CLASS, resource_classes.show, "resource_classes:show", 2, gives_json=True),
    ApiRoute("PUT", CLASS, resource_classes.rename, "resource_classes:update", 2, 6, takes_json=True),
    ApiRoute("PUT", CLASS, resource_classes.ensure, "resource_classes:update", 7),
    ApiRoute("DELETE", CLASS, resource_classes.delete, "resource_classes:delete", 2),
)
