# SPDX-License-Identifier: Apache-2.0
"""The middlewares around the application of Placement's API."""

import json

import pytest
from oslo_config import cfg

from scheduler_svc.composition.placement_service import wrap_in_middleware
from scheduler_svc.conf import placement_service as placement_conf

ORIGIN = "https://dashboard.example"


@pytest.fixture
def settings(conf):
    placement_conf.register_opts(conf)
    conf.set_override("auth_strategy", "noauth2", group="api")
    return conf


def echo(environ, start_response):
    """Answer with what links are made of."""
    names = ("wsgi.url_scheme", "HTTP_HOST", "SCRIPT_NAME", "PATH_INFO")
    start_response("200 OK", [("content-type", "application/json")])
    return [json.dumps([environ[name] for name in names]).encode()]


def call(settings, method="GET", path="/traits", **environ):
    """Return headers and body of the answer to a request."""
    received = {}

    def start_response(status, headers, *_):
        received.update({name.lower(): text for name, text in headers}, status=int(status[:3]))

    request = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "SCRIPT_NAME": "",
        "HTTP_HOST": "node:8778",
        "SERVER_NAME": "node",
        "SERVER_PORT": "8778",
        "wsgi.url_scheme": "http",
        "HTTP_X_AUTH_TOKEN": "admin",
    }
    body = b"".join(wrap_in_middleware(settings, echo)(request | environ, start_response))
    return received, json.loads(body) if body else None


def test_by_default_a_proxys_headers_and_origins_mean_nothing(settings):
    headers, links = call(settings, HTTP_ORIGIN=ORIGIN, HTTP_X_FORWARDED_PROTO="https", HTTP_X_FORWARDED_HOST="evil")
    assert links == ["http", "node:8778", "", "/traits"]
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("prefix", ["", "/inner"])
def test_headers_of_a_trusted_proxy_are_in_links(settings, prefix):
    settings.set_override("enable_proxy_headers_parsing", True, group="oslo_middleware")
    settings.set_override("prefix", prefix, group="placement")
    _, links = call(
        settings,
        path=f"{prefix}/traits",
        HTTP_X_FORWARDED_PROTO="https",
        HTTP_X_FORWARDED_HOST="cloud.example",
        HTTP_X_FORWARDED_PREFIX="/outer",
    )
    assert links == ["https", "cloud.example", f"/outer{prefix}", "/traits"]


@pytest.mark.parametrize("prefix", ["placement", "/placement/", "/a b", "//", "/a\n/b"])
def test_prefix_is_a_path_without_a_slash_at_its_end(settings, prefix):
    with pytest.raises(ValueError, match="doesn't match regex"):
        settings.set_override("prefix", prefix, group="placement")


def test_pages_of_an_allowed_origin_may_call_the_api(settings):
    settings.set_override("allowed_origin", [ORIGIN], group="cors")
    preflight, _ = call(
        settings,
        "OPTIONS",
        HTTP_ORIGIN=ORIGIN,
        HTTP_ACCESS_CONTROL_REQUEST_METHOD="PUT",
        HTTP_ACCESS_CONTROL_REQUEST_HEADERS="x-auth-token,openstack-api-version,content-type",
    )
    assert preflight["access-control-allow-origin"] == ORIGIN
    assert preflight["access-control-allow-methods"] == "PUT"
    headers, _ = call(settings, HTTP_ORIGIN=ORIGIN)
    assert headers["access-control-allow-origin"] == ORIGIN
    assert "Location" in headers["access-control-expose-headers"]
    assert "access-control-allow-origin" not in call(settings, HTTP_ORIGIN="https://other.example")[0]


def test_options_of_middlewares_are_checked_at_start(tmp_path):
    path = tmp_path / "placement.conf"
    path.write_text("[oslo_middleware]\nenable_proxy_headers_parsing = perhaps\n")
    conf = cfg.ConfigOpts()
    placement_conf.register_opts(conf)
    conf(["--config-file", str(path)])
    with pytest.raises(cfg.ConfigFileValueError):
        conf.oslo_middleware.enable_proxy_headers_parsing  # noqa: B018
