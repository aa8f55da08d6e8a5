# SPDX-License-Identifier: Apache-2.0
"""gantt-placement behind a real Keystone, which this project does not install."""

import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.clusters.waiting import wait_until
from tests.support.placement import keystone_server
from tests.support.placement.keystone_server import ADMINISTRATOR, PASSWORD, PROJECT
from tests.support.placement.openstack_client import PROGRAM, client_environment
from tests.support.placement.servers import DEPLOYMENTS, Servers

SECONDS = 120
ROLES = ("manager", "member", "reader", "service")

pytestmark = [pytest.mark.openstack, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def keystone():
    with keystone_server.running(Path(os.environ[PROGRAM]).parent) as server:
        yield server


@pytest.fixture(scope="module")
def users(keystone):
    """Names of users by their role."""
    return {ADMINISTRATOR: ADMINISTRATOR} | {role: keystone.create_user(role) for role in ROLES}


@pytest.fixture(scope="module")
def port(keystone):
    """A gantt-placement that validates tokens by that Keystone."""
    options = {
        "api": {"auth_strategy": "keystone"},
        "keystone_authtoken": {
            "auth_type": "password",
            "auth_url": keystone.url,
            "www_authenticate_uri": keystone.url,
            "username": ADMINISTRATOR,
            "password": PASSWORD,
            "project_name": PROJECT,
            "user_domain_name": "Default",
            "project_domain_name": "Default",
            "http_request_max_retries": "0",
        },
    }
    with Servers(DEPLOYMENTS["memory"], "").running(options) as port:
        yield port


@pytest.fixture
def call(port):
    """Sends a request with a token; returns its status, headers and document."""

    def send(token, method, path, body=None):
        headers = {"openstack-api-version": "placement 1.39", "content-type": "application/json"}
        if token is not None:
            headers["x-auth-token"] = token
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            content = response.read()
            return response.status, response.headers, json.loads(content) if content else None

    return send


def is_error(document, status):
    """Return whether a document is an error as Nova reads it."""
    (error,) = document["errors"]
    return error["status"] == status and error["code"].startswith("placement.") and bool(error["detail"])


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        ("admin", {"list", "create", "usages"}),
        ("service", {"list", "create", "reshape"}),
        ("reader", {"usages"}),
        ("member", {"usages"}),
        ("manager", {"usages"}),
    ],
)
def test_roles_may_do_what_the_policy_says(call, keystone, users, role, allowed):
    token = keystone.token(users[role])
    requests = {
        "list": ("GET", "/resource_providers", None),
        "create": ("POST", "/resource_providers", {"name": f"of {role}"}),
        "reshape": ("POST", "/reshaper", {"inventories": {}, "allocations": {}}),
        "usages": ("GET", f"/usages?project_id={keystone.project_id}", None),
        "usages of others": ("GET", "/usages?project_id=other", None),
    }
    if role in {"admin", "service"}:
        allowed = allowed | {"usages", "usages of others"}
    expected = dict.fromkeys(requests, 403) | dict.fromkeys(allowed, 200)
    if "reshape" in allowed:
        expected["reshape"] = 400  # it moves nothing
    answers = {name: call(token, *request) for name, request in requests.items()}
    assert {name: status for name, (status, _, _) in answers.items()} == expected
    assert all(is_error(document, 403) for status, _, document in answers.values() if status == 403)


def assert_unauthorized(answer, keystone):
    status, headers, document = answer
    assert status == 401 and is_error(document, 401)
    assert headers["content-type"].startswith("application/json")
    assert keystone.url.removesuffix("/v3") in headers["www-authenticate"]


@pytest.mark.parametrize("token", [None, "x", "gAAAAABnonsense"])
def test_request_without_a_valid_token_is_unauthorized(call, keystone, token):
    assert_unauthorized(call(token, "GET", "/resource_providers"), keystone)


def test_root_and_health_need_no_token(call):
    assert [call(None, "GET", path)[0] for path in ("/", "/healthz")] == [200, 200]


def test_revoked_token_is_unauthorized(call, keystone):
    token = keystone.token(ADMINISTRATOR)
    keystone.revoke(token)
    assert_unauthorized(call(token, "GET", "/resource_providers"), keystone)


def test_token_expires_although_it_was_accepted_before(call, keystone):
    with keystone.short_lived_tokens(seconds=5) as url:
        tokens = iter(lambda: keystone.token(ADMINISTRATOR, url), None)
        # A token may have expired on a slow machine before it is used.
        token = next(token for token in tokens if call(token, "GET", "/resource_providers")[0] == 200)
    wait_until(lambda: call(token, "GET", "/resource_providers")[0] == 401, "the end of the token")
    assert_unauthorized(call(token, "GET", "/resource_providers"), keystone)


def test_keystone_that_is_down_is_a_failure_of_the_service(call, keystone):
    token = keystone.token(ADMINISTRATOR)
    keystone.stop()
    try:
        status, headers, document = call(token, "GET", "/resource_providers")
    finally:
        keystone.start()
    assert status == 503 and is_error(document, 503)
    assert headers["retry-after"]
    assert call(token, "GET", "/resource_providers")[0] == 200


def test_client_finds_the_api_in_the_catalogue_by_the_printed_commands(port, keystone, users, tmp_path):
    url = f"http://127.0.0.1:{port}"
    program = [sys.executable, "-m", "scheduler_svc.cmd.placement", "catalogue", url, "--region", "RegionOne"]
    commands = subprocess.run(program, capture_output=True, text=True, timeout=SECONDS, check=True).stdout
    assert len(re.findall(r"(?m)^openstack ", commands)) == 4

    def run(command, user=ADMINISTRATOR):
        environment = client_environment(tmp_path) | keystone.credentials(user) | {"OS_PLACEMENT_API_VERSION": "1.39"}
        return subprocess.run(
            ["bash", "-ec", command], env=environment, capture_output=True, text=True, timeout=5 * SECONDS, check=False
        )

    entered = run(commands)
    assert entered.returncode == 0, entered.stderr
    endpoints = run("openstack endpoint list --service placement -f value -c Interface -c URL")
    assert sorted(endpoints.stdout.split()) == sorted(["public", "internal", "admin", *[url] * 3])
    created = run("openstack resource provider create shelf -f value -c name")
    assert (created.returncode, created.stdout.split()) == (0, ["shelf"]), created.stderr
    listed = run("openstack resource provider list --name shelf -f value -c name", users["service"])
    assert (listed.returncode, listed.stdout.split()) == (0, ["shelf"]), listed.stderr
    refused = run("openstack resource provider list", users["reader"])
    assert refused.returncode != 0 and "403" in refused.stderr
