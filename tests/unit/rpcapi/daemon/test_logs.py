# SPDX-License-Identifier: Apache-2.0
"""Log lines contain the request's identity and no passwords."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from oslo_config import cfg

from rpcapi import context
from rpcapi.daemon import logs


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
