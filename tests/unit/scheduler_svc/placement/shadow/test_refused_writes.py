# SPDX-License-Identifier: Apache-2.0
"""The route and the error code of a refused write."""

import json

import pytest

from scheduler_svc.placement.http import routes
from scheduler_svc.placement.shadow.exchanges import SAFE_METHODS, ProxiedResponse, SentRequest
from scheduler_svc.placement.shadow.refused_writes import ROUTES, UNKNOWN, RefusedWrite, refused_write, route_of


def test_routes_are_those_of_the_api():
    assert sorted(ROUTES) == sorted({route.path for route in routes.ROUTES if route.method not in SAFE_METHODS})


@pytest.mark.parametrize(
    ("target", "route"),
    [
        ("/allocations/1-2?a=/traits", "/allocations/{consumer}"),
        (
            "/placement/v1/resource_providers/a/inventories/VCPU",
            "/resource_providers/{uuid}/inventories/{resource_class}",
        ),
        ("/resource_providers/traits/traits", "/resource_providers/{uuid}/traits"),
        ("/reshaper/", "/reshaper"),
        ("/resource_providers/a/b", UNKNOWN),
        ("/", UNKNOWN),
    ],
)
def test_route_of_a_path(target, route):
    assert route_of(target) == route


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({"errors": [{"code": "placement.concurrent_update"}]}, "placement.concurrent_update"),
        ({"errors": [{"code": "x" * 1000}]}, UNKNOWN),
        ({"errors": [{"code": 5}]}, UNKNOWN),
        ({"errors": [{}]}, UNKNOWN),
        ({"errors": []}, UNKNOWN),
        ([], UNKNOWN),
        (None, UNKNOWN),
    ],
)
def test_code_is_that_of_the_first_error(document, code):
    request = SentRequest("PUT", "/traits/A", {}, b"")
    body = b"<html>" if document is None else json.dumps(document).encode()
    assert refused_write(request, ProxiedResponse(409, (), body)) == RefusedWrite("PUT", "/traits/{name}", 409, code)
