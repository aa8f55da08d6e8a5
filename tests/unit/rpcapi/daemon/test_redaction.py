# SPDX-License-Identifier: Apache-2.0
"""Secrets in logs are masked."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from oslo_config import cfg

from rpcapi.daemon import logs
from rpcapi.daemon.redaction import redact, redact_handlers


@pytest.fixture
def log_file(tmp_path: Path) -> Iterator[Path]:
    """Set up logging from options; restores all loggers afterwards, libraries' levels included."""
    root = logging.getLogger()
    handlers, level, formatters = root.handlers[:], root.level, [h.formatter for h in root.handlers]
    conf = cfg.ConfigOpts()
    logs.register_opts(conf)
    conf([], project="gantt", default_config_files=[])
    libraries = [logging.getLogger(entry.partition("=")[0]) for entry in conf.default_log_levels]
    levels = [library.level for library in libraries]
    conf.set_override("log_file", str(tmp_path / "gantt.log"))
    logs.setup(conf, "gantt-toy", "1")
    yield tmp_path / "gantt.log"
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    for handler, formatter in zip(handlers, formatters, strict=True):
        root.addHandler(handler)
        handler.setFormatter(formatter)
    root.setLevel(level)
    for library, before in zip(libraries, levels, strict=True):
        library.setLevel(before)


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
