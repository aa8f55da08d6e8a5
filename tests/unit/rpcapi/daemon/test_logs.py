# SPDX-License-Identifier: Apache-2.0
"""Log lines contain the request's identity and no passwords."""

import logging
from pathlib import Path

from rpcapi import context


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
