# SPDX-License-Identifier: Apache-2.0
"""Log lines contain the request's identity and no passwords."""

import logging
from pathlib import Path

import pytest

from rpcapi import context
from rpcapi.daemon.logs import redact, redact_handlers


def test_log_line_has_request_id_project_and_user(log_file: Path) -> None:
    request_context = context.RequestContext(project_id="crew", user_id="ada", overwrite=True)

    logging.getLogger("gantt.test").warning("placed")

    assert f"[{request_context.request_id} crew ada] placed" in log_file.read_text()


def test_missing_project_and_user_are_logged_as_a_dash(log_file: Path) -> None:
    request_context = context.RequestContext(overwrite=True)

    logging.getLogger("gantt.test").warning("placed")

    assert f"[{request_context.request_id} - -] placed" in log_file.read_text()


def test_traceback_is_redacted(log_file: Path) -> None:
    try:
        raise ConnectionError("rabbit://gantt:swordfish@broker:5672//")
    except ConnectionError:
        logging.getLogger("gantt.test").exception("away: %s", "redis://:xyzzy@store/0")

    text = log_file.read_text()
    assert "ConnectionError" in text
    assert "swordfish" not in text
    assert "xyzzy" not in text


def test_redacting_handlers_twice_wraps_them_once(log_file: Path) -> None:
    redact_handlers()

    logging.getLogger("gantt.test").warning("once")

    inner = logging.getLogger().handlers[-1].formatter.inner  # type: ignore[union-attr]
    assert not hasattr(inner, "inner")


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("rabbit://gantt:swordfish@10.0.0.1:5672/v", "10.0.0.1:5672/v"),
        ("rabbit://a:swordfish@one:1,b:swordfish@two:2/v", "@one:1,***:***@two:2/v"),
        ("redis://:swordfish@store:6379/0", "store:6379/0"),
        ("gantt+redis://bus:sword%40fish@h/0?socket=/x", "@h/0?socket=/x"),
        ("{'password': 'swordfish', 'host': 'h'}", "'host': 'h'"),
        ("redis_password = swordfish; db = 0", "; db = 0"),
        ("PASSWD=swordfish; db = 0", "; db = 0"),
        ("Passphrase: swordfish, db", ", db"),
        ("client_secret='swordfish'; db = 0", "; db = 0"),
        ("pas\u017fword=swordfish; db = 0", "; db = 0"),
    ],
)
def test_secrets_are_masked_and_the_rest_is_unchanged(text: str, rest: str) -> None:
    masked = redact(text)

    assert "swordfish" not in masked
    assert "sword%40fish" not in masked
    assert rest in masked


def test_text_similar_to_a_secret_is_unchanged() -> None:
    for text in ("see http://host:80/a and mail x@y.org", "10 hosts at http://h/ by user@h", "nothing here"):
        assert redact(text) == text


@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "a\x1b[2Jb", "a\u2028b", "a\u0085b"])
def test_message_stays_one_line(log_file: Path, text: str) -> None:
    redact_handlers()
    logging.getLogger("gantt.test").warning("of a peer: %s", text)
    (line,) = log_file.read_text(encoding="utf-8").splitlines()
    assert line.endswith("b")


def test_half_a_surrogate_pair_is_logged_escaped(log_file: Path) -> None:
    redact_handlers()
    logging.getLogger("gantt.test").warning("of a peer: %s", "\ud800")
    assert r"\ud800" in log_file.read_text(encoding="utf-8")
