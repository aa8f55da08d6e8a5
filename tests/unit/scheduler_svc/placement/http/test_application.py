# SPDX-License-Identifier: Apache-2.0
"""What the application does with each request before and after its handler."""

import re

import pytest

from rpcapi import errors

PROVIDERS = "/resource_providers"


def test_root_needs_no_token(api):
    answer = api.call("GET", "/", user=None)
    assert answer.status == 200
    assert answer.json["versions"][0]["max_version"] == "1.39"


def test_request_without_a_token_is_refused(api):
    assert api.call("GET", PROVIDERS, user=None).status == 401


def test_identity_in_headers_of_the_client_is_not_believed(api):
    answer = api.call("GET", PROVIDERS, user=None, HTTP_X_USER_ID="admin", HTTP_X_ROLES="admin")
    assert answer.status == 401


def test_user_without_a_role_is_refused(api):
    answer = api.call("GET", PROVIDERS, user="u")
    assert answer.status == 403
    assert "placement:resource_providers:list" in answer.error["detail"]


def test_each_answer_names_its_request_and_version(api):
    for path in ("/", "/unknown", PROVIDERS):
        answer = api.call("GET", path, version="1.20")
        assert re.fullmatch("req-[0-9a-f-]{36}", answer.headers["x-openstack-request-id"])
        assert answer.headers["openstack-api-version"] == "placement 1.20"
        assert answer.headers["vary"] == "openstack-api-version"


def test_error_has_code_from_1_23(api):
    assert "code" not in api.call("GET", "/unknown", version="1.22").error
    error = api.call("GET", "/unknown", version="1.23").error
    assert (error["status"], error["title"], error["code"]) == (404, "Not Found", "placement.undefined_code")


def test_version_that_is_not_served_gets_the_served_ones(api):
    answer = api.call("GET", "/", version="1.40")
    assert answer.status == 406
    assert (answer.error["min_version"], answer.error["max_version"]) == ("1.0", "1.39")


def test_unknown_method_gets_the_allowed_ones(api):
    answer = api.call("PATCH", PROVIDERS)
    assert answer.status == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "POST"}


@pytest.mark.parametrize(
    ("environ", "status"),
    [
        ({"CONTENT_TYPE": ""}, 400),
        ({"CONTENT_TYPE": "text/plain"}, 415),
        ({"CONTENT_TYPE": "application/json; charset=utf-8"}, 200),
        ({"CONTENT_LENGTH": "some"}, 400),
        ({"CONTENT_LENGTH": "-1"}, 400),
        ({"CONTENT_LENGTH": str((8 << 20) + 1)}, 413),
        ({"CONTENT_LENGTH": 5000 * "9"}, 413),
    ],
)
def test_header_of_a_body_is_checked(api, environ, status):
    assert api.call("POST", PROVIDERS, {"name": "a"}, **environ).status == status


def test_missing_type_of_a_body_is_named_so(api):
    answer = api.call("POST", PROVIDERS)
    assert answer.status == 415
    assert "None" in answer.error["detail"] and "$" not in answer.error["detail"]


def test_body_without_announced_length_is_bounded(api):
    raw = b'{"name": "' + b"a" * (8 << 20) + b'"}'
    assert api.call("POST", PROVIDERS, raw=raw, CONTENT_LENGTH="").status == 413


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"{", "Malformed JSON"),
        (b'{"name": NaN}', "Malformed JSON"),
        (b'\xff"', "Malformed JSON"),
        (b"[" * 100_000, "Malformed JSON"),
        (b'{"name": 5}', "JSON does not validate"),
        (b'{"name": "' + b"a" * 5_000_000 + b'"}', "JSON does not validate"),
    ],
)
def test_bad_body_is_refused_in_a_short_text(api, raw, text):
    answer = api.call("POST", PROVIDERS, raw=raw)
    assert answer.status == 400
    assert text in answer.error["detail"]
    assert len(answer.body) < 10_000


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("text/html", "text/html"),
        ("*/*", "application/json"),
        ("", "application/json"),
        ("text/html, application/json", "application/json"),
        ("text/html, */*;q=0.1", "application/json"),
    ],
)
def test_error_has_the_accepted_type(api, accept, content_type):
    answer = api.call("GET", "/unknown", HTTP_ACCEPT=accept)
    assert answer.headers["content-type"].startswith(content_type)


def test_other_types_than_json_are_not_given(api):
    assert api.call("GET", PROVIDERS, HTTP_ACCEPT="text/plain").status == 406
    assert api.call("GET", PROVIDERS, HTTP_ACCEPT="text/html, */*;q=0.1").status == 200


@pytest.mark.parametrize("query", ["name=%ff", "&".join(f"name={n}" for n in range(2000)), "uuid=none", "other=1"])
def test_bad_query_is_refused(api, query):
    answer = api.call("GET", f"{PROVIDERS}?{query}")
    assert answer.status == 400
    assert "Invalid query string parameters" in answer.error["detail"]


def test_path_that_is_not_utf8_is_unknown(api):
    assert api.call("GET", "/", PATH_INFO="/traits/\xff").status == 404


def test_unavailable_store_gets_503_with_a_time_to_retry(api, monkeypatch):
    def fail(ids):
        raise errors.StoreUnavailable(why="it is being restarted")

    monkeypatch.setattr(api.store, "read_providers", fail)
    answer = api.call("GET", f"{PROVIDERS}/{'0' * 8}-0000-0000-0000-{'0' * 12}")
    assert answer.status == 503
    assert answer.headers["retry-after"] == "1"
    assert "it is being restarted" in answer.error["detail"]


def test_clients_read_nothing_of_what_the_stores_driver_says(api, monkeypatch, caplog):
    def fail(ids):
        try:
            raise ConnectionError("Error 111 connecting to 192.0.2.7:6379")
        except ConnectionError as error:
            raise errors.StoreUnavailable(why=f"partition 'default': {error}") from error

    monkeypatch.setattr(api.store, "read_providers", fail)
    answer = api.call("GET", f"{PROVIDERS}/{'0' * 8}-0000-0000-0000-{'0' * 12}")
    request_id = answer.headers["x-openstack-request-id"]
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert f"The store cannot be reached; see {request_id} in the server's log." in answer.error["detail"]
    assert "192.0.2.7" not in answer.body.decode()
    assert f"{request_id}: The store cannot be reached: partition 'default': Error 111" in caplog.text


def test_clients_read_why_a_write_is_not_acknowledged(api, monkeypatch):
    def fail(ids):
        raise errors.NotReplicated(store="It", acknowledged=1, needed=2, wait_ms=50) from OSError("any")

    monkeypatch.setattr(api.store, "read_providers", fail)
    answer = api.call("GET", f"{PROVIDERS}/{'0' * 8}-0000-0000-0000-{'0' * 12}")
    assert "1 of 2 replicas had the write" in answer.error["detail"]


def test_unexpected_failure_names_the_request_and_not_its_cause(api, monkeypatch, caplog):
    def fail(ids):
        raise RuntimeError("a secret")

    monkeypatch.setattr(api.store, "read_providers", fail)
    answer = api.call("GET", f"{PROVIDERS}/{'0' * 8}-0000-0000-0000-{'0' * 12}")
    assert answer.status == 500
    assert answer.headers["x-openstack-request-id"] in answer.error["detail"]
    assert b"a secret" not in answer.body
    assert "a secret" in caplog.text


def test_links_and_locations_begin_with_the_prefix(api):
    answer = api.call("POST", PROVIDERS, {"name": "a"}, SCRIPT_NAME="/placement")
    assert answer.headers["location"].startswith("http://placement.example/placement/resource_providers/")
    assert answer.json["links"][0]["href"].startswith("/placement/resource_providers/")


def test_cache_headers_begin_with_1_15(api):
    assert "last-modified" not in api.call("GET", PROVIDERS, version="1.14").headers
    headers = api.call("GET", PROVIDERS, version="1.15").headers
    assert headers["cache-control"] == "no-cache"
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", headers["last-modified"])
