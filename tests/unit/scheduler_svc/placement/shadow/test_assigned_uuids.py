# SPDX-License-Identifier: Apache-2.0
"""When a request is changed before gantt gets it."""

import json

import pytest

from scheduler_svc.placement.shadow.assigned_uuids import with_assigned_uuid
from scheduler_svc.placement.shadow.exchanges import ProxiedResponse, SentRequest

UUID = "11111111-2222-3333-4444-555555555555"
LOCATION = ("Location", f"http://placement.example/placement/resource_providers/{UUID}")
NAMELESS = b'{"name": "a"}'


def request(body, target="/placement/resource_providers", method="POST"):
    return SentRequest(method, target, {"X-Auth-Token": "t"}, body)


def test_uuid_of_the_location_is_added():
    changed = with_assigned_uuid(request(NAMELESS), ProxiedResponse(201, [("x", "y"), LOCATION], b""))
    assert json.loads(changed.body) == {"name": "a", "uuid": UUID}
    assert changed.headers == {"X-Auth-Token": "t"}


@pytest.mark.parametrize(
    ("sent", "headers"),
    [
        (request(b'{"name": "a", "uuid": "b"}'), [LOCATION]),
        (request(NAMELESS, method="PUT"), [LOCATION]),
        (request(NAMELESS, target="/resource_classes"), [LOCATION]),
        (request(b"["), [LOCATION]),
        (request(b"[]"), [LOCATION]),
        (request(NAMELESS), []),
        (request(NAMELESS), [("Location", "/resource_providers/x")]),
    ],
)
def test_other_requests_are_repeated_as_they_came(sent, headers):
    assert with_assigned_uuid(sent, ProxiedResponse(201, headers, b"")) is sent
