# SPDX-License-Identifier: Apache-2.0
"""Router from paths and methods to handlers."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from scheduler_svc.placement.http.messages import Response
from scheduler_svc.placement.http.microversions import LATEST, OLDEST
from scheduler_svc.placement.http.schemas.validators import Versioned

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
    """Routes of a path by method, and the path's variable parts.

    A method has a route per range of microversions.
    """

    methods: Mapping[str, list[ApiRoute]]
    variables: tuple[str, ...]

    @property
    def path(self) -> str:
        return next(iter(self.methods.values()))[0].path


class Router:
    """Finder of routes by path.

    Fixed and variable parts of a path alternate, so their number and the fixed parts identify a route.
    """

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
