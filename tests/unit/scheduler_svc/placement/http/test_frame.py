# SPDX-License-Identifier: Apache-2.0
"""What holds for all answers, also for those of a middleware."""

import json
import logging
import re

import pytest

from scheduler_svc import metrics
from scheduler_svc.placement.http import frame
from scheduler_svc.placement.http.frame import Frame, exchange_of

TOKEN = {"HTTP_X_AUTH_TOKEN": "a-secret-value"}
MIDDLEWARES_REFUSAL = "503 Service Unavailable"


class Closing(list):
    """The chunks of a response, which remember that they were closed."""

    closed = False

    def close(self):
        self.closed = True


def answer(application, **environ):
    """Return status, headers and body of the answer to one request."""
    received = {}

    def start_response(status, headers):
        received["status"] = int(status[:3])
        received["headers"] = {name.lower(): text for name, text in headers}

    request = {"REQUEST_METHOD": "GET", "PATH_INFO": "/traits", "QUERY_STRING": "", "REMOTE_ADDR": "192.0.2.7"}
    chunks = Frame(application)(request | environ, start_response)
    body = b"".join(chunks)
    chunks.close()
    return received["status"], received["headers"], body


def refuse(environ, start_response):
    start_response(MIDDLEWARES_REFUSAL, [("Content-Type", "text/html"), ("Content-Length", "4"), ("Retry-After", "7")])
    return [b"away"]


def fail(environ, start_response):
    raise RuntimeError("a secret")


def serve(environ, start_response):
    exchange = exchange_of(environ)
    exchange.route = "/traits/{name}"
    start_response("200 OK", [(frame.REQUEST_ID, exchange.request_id)])
    return [b"ab", b"c"]


@pytest.mark.parametrize(("application", "status"), [(serve, 200), (refuse, 503), (fail, 500)])
def test_answer_to_head_has_no_body(application, status):
    assert answer(application, REQUEST_METHOD="HEAD")[::2] == (status, b"")


@pytest.mark.parametrize(("version", "has_code"), [("1.22", False), ("1.23", True), ("9.9", True)])
def test_refusal_of_a_middleware_becomes_an_error_of_the_api(version, has_code):
    status, headers, body = answer(refuse, HTTP_OPENSTACK_API_VERSION=f"placement {version}")
    (error,) = json.loads(body)["errors"]
    assert (status, headers["content-type"], headers["retry-after"]) == (503, "application/json", "7")
    assert error["detail"] and error["request_id"] == headers["x-openstack-request-id"]
    assert ("code" in error) is has_code
    assert headers["content-length"] == str(len(body))


def test_failure_of_a_middleware_is_logged_and_not_shown(caplog):
    status, headers, body = answer(fail)
    assert status == 500
    assert b"secret" not in body
    assert "a secret" in caplog.text and headers["x-openstack-request-id"] in caplog.text


def test_answer_without_a_request_id_gets_one():
    def preflight(environ, start_response):
        start_response("200 OK", [])
        return []

    assert re.fullmatch("req-[0-9a-f-]{36}", answer(preflight)[1]["x-openstack-request-id"])


def test_chunks_are_closed():
    chunks = Closing([b"a"])
    answer(lambda environ, start_response: start_response("200 OK", []) or chunks)
    assert chunks.closed


def line(caplog):
    (record,) = [record for record in caplog.records if record.name == frame.__name__]
    return record.getMessage()


def test_request_is_one_line_of_the_log(caplog):
    caplog.set_level(logging.INFO)
    callers_id = "req-11111111-2222-3333-4444-555555555555"
    _, headers, _ = answer(serve, QUERY_STRING="name=in:A,B", HTTP_X_OPENSTACK_REQUEST_ID=callers_id)
    request_id = headers["x-openstack-request-id"]
    begin = f'{request_id} {callers_id} 192.0.2.7 "GET /traits?name=in:A,B" status: 200 bytes: 3 ms: '
    assert line(caplog).startswith(begin)


def test_client_forges_no_line_and_its_headers_are_not_logged(caplog):
    caplog.set_level(logging.INFO)
    answer(
        serve,
        REQUEST_METHOD='GET"',
        PATH_INFO='/traits/a" status: 200\r\n2026 forged\u0085' + "a" * 5000,
        QUERY_STRING='a="\nforged&b= c',
        REMOTE_ADDR="a\nb",
        HTTP_X_OPENSTACK_REQUEST_ID="req-1 forged",
        **TOKEN,
    )
    text = line(caplog)
    assert text.count('"') == 2 and text.count(" status: ") == 1
    assert text.isprintable() and len(text) < 4000
    assert " forged" not in text and "a-secret-value" not in text


def count(method, route, status):
    return metrics.HTTP_REQUESTS.labels(method, route, status)._value.get()


@pytest.mark.parametrize(
    ("application", "method", "labels"),
    [
        (serve, "GET", ("GET", "/traits/{name}", "200")),
        (refuse, "BREW", ("other", "unknown", "503")),
    ],
)
def test_requests_are_counted_by_route_and_status(application, method, labels):
    before = count(*labels)
    answer(application, REQUEST_METHOD=method, PATH_INFO="/traits/CUSTOM_A")
    assert count(*labels) == before + 1
