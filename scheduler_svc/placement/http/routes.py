# SPDX-License-Identifier: Apache-2.0
"""The routes of the Placement API, and which handler serves a path and method."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from scheduler_svc.placement.http.messages import Response
from scheduler_svc.placement.http.microversions import LATEST, OLDEST, Microversion
from scheduler_svc.placement.http.schemas.validators import Versioned

# Takes the PlacementModel, until it is bound, the Request and the variable parts of the path.
Handler = Callable[..., Response]


class Route(NamedTuple):
    """One operation: its path, in which {...} stands for a variable part, and what a request must fulfil.

    ``rule`` is the policy's rule, None: everybody may call it. It is served from microversion ``since`` to ``until``;
    requests of others get the status ``outside``. ``takes_json`` and ``gives_json``: the types of the bodies.
    ``type_first``: the types are compared before the microversion. ``of_project``: the rule may allow a project's own
    users, by parameter ``project_id``. ``query``: the schemas of the query's parameters; without them it is ignored.
    """

    method: str
    path: str
    handler: Handler
    rule: str | None
    since: Microversion = OLDEST
    until: Microversion = LATEST
    outside: int = 404
    takes_json: bool = False
    gives_json: bool = False
    type_first: bool = False
    of_project: bool = False
    query: Versioned | None = None


class Match(NamedTuple):
    """The routes at a path by method, and the path's variable parts. A method may have several, by microversion."""

    methods: Mapping[str, list[Route]]
    variables: tuple[str, ...]

    @property
    def path(self) -> str:
        """The path of the routes, with {...} for the variable parts."""
        return next(iter(self.methods.values()))[0].path


class Router:
    """Finds routes by path. Fixed and variable parts of a path alternate, so the fixed ones and a count identify it."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._paths: dict[tuple[int, tuple[str, ...]], dict[str, list[Route]]] = {}
        for route in routes:
            parts = route.path.split("/")[1:]
            methods = self._paths.setdefault((len(parts), tuple(parts[::2])), {})
            methods.setdefault(route.method, []).append(route)

    def find(self, path: str) -> Match | None:
        """Return the routes at a path, None if there are none."""
        parts = (path or "/").split("/")[1:]
        methods = self._paths.get((len(parts), tuple(parts[::2])))
        variables = tuple(parts[1::2])
        return Match(methods, variables) if methods is not None and all(variables) else None
