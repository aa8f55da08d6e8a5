# SPDX-License-Identifier: Apache-2.0
"""Paths and the routes that they find."""

import pytest

from scheduler_svc.placement.http.messages import Response
from scheduler_svc.placement.http.routes import ApiRoute, Router

PATHS = ["/", "/traits", "/traits/{name}", "/resource_providers/{uuid}/inventories/{resource_class}"]
ROUTER = Router(ApiRoute("GET", path, lambda request: Response(204), None) for path in PATHS)


@pytest.mark.parametrize(
    ("path", "route", "variables"),
    [
        ("", "/", ()),
        ("/", "/", ()),
        ("/traits", "/traits", ()),
        ("/traits/A", "/traits/{name}", ("A",)),
        ("/resource_providers/u/inventories/VCPU", PATHS[3], ("u", "VCPU")),
    ],
)
def test_path_finds_its_route(path, route, variables):
    match = ROUTER.find(path)
    assert match.methods["GET"][0].path == route
    assert match.variables == variables


@pytest.mark.parametrize(
    "path", ["/trait", "/traits/", "/traits/A/", "/traits/A/B", "//traits", "/resource_providers/u"]
)
def test_unknown_path_finds_nothing(path):
    assert ROUTER.find(path) is None
