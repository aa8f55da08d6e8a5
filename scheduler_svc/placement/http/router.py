# SPDX-License-Identifier: Apache-2.0
"""Router of requests to handlers, by path and method."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from scheduler_svc.placement.http.messages import Response
from scheduler_svc.placement.http.microversions import LATEST, OLDEST
from scheduler_svc.placement.http.schemas.validators import Versioned

# Takes the PlacementModel, the Request and the variable parts of the path.
Handler = Callable[..., Response]


class ApiRoute(NamedTuple):
    """Operation, and its requirements on requests.

    Attributes:
        path: {...} stands for a variable part.
        rule: Policy rule; None allows everybody.
        since, until: First and last minor microversion.
        outside: Status for other microversions.
        takes_json, gives_json: Whether request and response bodies are JSON.
        type_first: Content types are checked before the microversion.
        of_project: The rule may allow a project's own users, by parameter ``project_id``.
        query: Schemas of the query parameters; without schemas parameters are ignored.
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
    """Routes at a path by method, several if they depend on the microversion, and the path's variable parts."""

    methods: Mapping[str, list[ApiRoute]]
    variables: tuple[str, ...]

    @property
    def path(self) -> str:
        return next(iter(self.methods.values()))[0].path


class Router:
    """Finds routes by path. Fixed and variable parts alternate: their number and the fixed ones identify a route."""

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
