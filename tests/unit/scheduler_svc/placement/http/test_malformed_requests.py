# SPDX-License-Identifier: Apache-2.0
"""Malformed parameters, paths and headers on every route: refused with the API's error, and never with a 5xx."""

import re
from urllib.parse import quote, urlencode

import pytest

from scheduler_svc.placement.http import routes
from scheduler_svc.placement.http.microversions import LATEST
from tests.support.scheduler.placement import PlacementApi

PROVIDER = "2f6d1a4e-6a52-4d0b-9d4a-0d3c5a1f7e11"
HUGE = 4400 * "9"  # more digits than Python converts by default
NO_UUIDS = ("", " ", "-1", "x", PROVIDER + "0", PROVIDER.replace("-", "g"), "0" * 5000, "\0")
NO_TRAITS = ("", " ", ",", "!", "in:", "HW_CPU_X86_AVX,")
UNKNOWN_TRAITS = ("VCPU", "!in:", "x" * 5000, "\0", "HW_CPU_X86_AVX\n,VCPU", "\u2603")
NO_OWNERS = ("", 256 * "x")
# Each parameter, without the suffix of its group: a valid value, and malformed ones.
PARAMETERS = {
    "limit": ("5", ("", " ", "-5", "0", "abc", "1e5", "1.5", "+5", "5\n", "\u0665", "\u2603", "0x5", HUGE, 19 * "9")),
    "group_policy": ("none", ("", "evil", "none,isolate", "None", "none\n")),
    "resources": (
        "VCPU:1",
        ("", "VCPU", "VCPU:", "VCPU:0", "VCPU:-1", "VCPU:x", "VCPU:1:1", f"VCPU:{HUGE}", ",", "X:1"),
    ),
    "required": ("HW_CPU_X86_AVX", NO_TRAITS),
    "root_required": ("HW_CPU_X86_AVX", NO_TRAITS),
    "member_of": (PROVIDER, (*NO_UUIDS, "in:", "!", f"{PROVIDER},{PROVIDER}")),
    "in_tree": (PROVIDER, NO_UUIDS),
    "uuid": (PROVIDER, NO_UUIDS),
    "same_subtree": ("1,2", ("", ",", "9", "1,,2", "x" * 5000)),
    "associated": ("true", ("", "yes", "1", "true\n")),
    "project_id": ("p", NO_OWNERS),
    "user_id": ("u", NO_OWNERS),
    "consumer_type": ("INSTANCE", ("", "instance", "INSTANCE\n", "-", 256 * "X")),
}
NAMES = {"/traits": ("in:CUSTOM_A", ("", "CUSTOM_A")), "/resource_providers": ("root", ())}  # parameter `name` by path
NO_UTF_8 = ("%FF", "%ED%A0%80")
# Placement gives several values a meaning: all count, or the first or the last of them.
REPEATABLE = {"limit", "group_policy", "required", "member_of", "same_subtree"}
MEMBER_OF_REPEATABLE_SINCE = 24
GROUPS_SINCE = 25
# What a request has besides the parameter that is tested.
GROUPS = {"resources1": "VCPU:1", "resources2": "VCPU:1", "group_policy": "none"}
OTHERS = {"/usages": {"project_id": "p"}, "/resource_providers": {}, "/traits": {}}

SEGMENTS = ("x", "-1", "0", " ", "..", "\0", "\u2603", "%", "A" * 5000, HUGE, "CUSTOM_A\n", PROVIDER + "\n", "0" * 36)
VERSIONS = {
    400: ("1", "1.", ".1", "x", "-1.2", "1.-2", "1.+2", "1.1_0", "1.2.3", "1.x", "1. 2", HUGE, f"1.{HUGE}", "1.\u00b2"),
    406: ("0.9", "1.40", "2.0", "1.999999"),
}
# HEAD has the handler of GET, and no error in its body.
ROUTES = [route for route in routes.ROUTES if route.method != "HEAD"]


def parameters():
    """Yield (route, minor, name, valid value, malformed values) of each parameter.

    ``minor`` is the first and the last minor microversion of each schema.
    """
    for route in ROUTES:
        last = LATEST
        for first, validator in route.query or ():
            schema = validator.schema
            for pattern in (*schema["properties"], *schema.get("patternProperties", ())):
                name = re.match(r"\^?(\w+)", pattern)[1]
                values = NAMES[route.path] if name == "name" else PARAMETERS[name]
                suffix = "1" if pattern.startswith("^") else ""
                for minor in {max(first, route.since), last}:
                    yield route, minor, name + suffix, *values
            last = first - 1


def is_repeatable(case):
    _, minor, name, *_ = case
    name = name.removesuffix("1")
    return name in REPEATABLE and (name != "member_of" or minor >= MEMBER_OF_REPEATABLE_SINCE)


def ids(case):
    route, minor, name, *_ = case
    return f"{route.path[1:]}-1.{minor}-{name}"


@pytest.fixture(scope="module")
def api():
    api = PlacementApi()
    api.set_inventories(api.create("root"), VCPU=8)
    return api


def ask(api, case, *values):
    """Return the answer to a query in which the parameter of a case has these quoted values."""
    route, minor, name, *_ = case
    groups = GROUPS if minor >= GROUPS_SINCE else {"resources": "VCPU:1"}
    others = {key: value for key, value in OTHERS.get(route.path, groups).items() if key != name}
    query = "&".join(filter(None, (urlencode(others), *(f"{name}={value}" for value in values))))
    return api.call("GET", f"{route.path}?{query}", version=f"1.{minor}")


def assert_refused(answer, *statuses):
    assert answer.status in statuses
    assert answer.error["status"] == answer.status
    assert answer.error["detail"]
    assert not re.search(r"[\r\n]", "".join(answer.headers.values()))


def test_every_route_with_parameters_is_walked():
    assert {route.path for route in ROUTES if route.query} == {"/allocation_candidates", *OTHERS}
    assert {name.rstrip("1") for _, _, name, *_ in parameters()} == {*PARAMETERS, "name"}


@pytest.mark.parametrize("case", list(parameters()), ids=ids)
def test_malformed_value_is_refused_alone_and_beside_a_valid_one(api, case):
    *_, valid, malformed = case
    valid = quote(valid)
    assert ask(api, case, valid).status == 200
    for value in (*map(quote, malformed), *NO_UTF_8):
        for values in ((value,), (value, valid), (valid, value)):
            assert_refused(ask(api, case, *values), 400)


@pytest.mark.parametrize("case", list(parameters()), ids=ids)
def test_parameter_is_repeated_only_where_placement_gives_that_a_meaning(api, case):
    _, _, name, valid, _ = case
    answer = ask(api, case, quote(valid), quote(valid))
    if is_repeatable(case):
        assert answer.status == 200
        return
    assert_refused(answer, 400)
    if not name.startswith("member_of"):  # has a text of its own, as in Placement
        assert answer.error["detail"].endswith(f"Query parameter '{name}' may be specified only once.  ")
        assert answer.error.get("code", "placement.query.duplicate_key") == "placement.query.duplicate_key"


@pytest.mark.parametrize("case", [case for case in parameters() if "required" in case[2]], ids=ids)
def test_unknown_trait_is_refused(api, case):
    for value in UNKNOWN_TRAITS:
        assert_refused(ask(api, case, quote(value)), 400)


@pytest.mark.parametrize("route", [route for route in ROUTES if "{" in route.path], ids=lambda route: route.path)
def test_malformed_part_of_a_path_is_refused(api, route):
    version = f"1.{route.until}"
    for segment in SEGMENTS:
        path = segment.join(re.split(r"\{\w+\}", route.path))
        answer = api.call(route.method, path, {} if route.takes_json else None, version=version)
        if (route.method, route.path) == ("GET", "/allocations/{consumer}"):
            assert answer.json["allocations"] == {}  # as of any consumer that does not exist
        else:
            assert_refused(answer, 400, 404)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method}-{route.path}")
@pytest.mark.parametrize("status", VERSIONS)
def test_malformed_microversion_is_refused(api, route, status):
    path = re.sub(r"\{\w+\}", PROVIDER, route.path)
    for version in VERSIONS[status]:
        assert_refused(api.call(route.method, path, version=version), status)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method}-{route.path}")
def test_other_malformed_headers_never_fail_the_server(api, route):
    path = re.sub(r"\{\w+\}", PROVIDER, route.path)
    headers = {
        "CONTENT_LENGTH": ("-1", "+5", "x", "1_0", "5, 5", "\u00b2", HUGE),
        "CONTENT_TYPE": ("", ";", "x", "\u00ff", "A" * 9000),
        "HTTP_ACCEPT": ("x", ",,", "*;q=x", "*/*;q=9", "\u00ff"),
        "HTTP_X_OPENSTACK_REQUEST_ID": ("\u00ff\n", "x" * 9000),
        "HTTP_X_PROJECT_ID": ("\u00ff", "x" * 9000),
    }
    for header, texts in headers.items():
        for text in texts:
            answer = api.call(route.method, path, {"name": 1}, **{header: text})
            assert answer.status < 500, (header, text)
            if header == "CONTENT_LENGTH":
                assert_refused(answer, 413 if text == HUGE else 400)
