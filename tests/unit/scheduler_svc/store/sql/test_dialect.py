# SPDX-License-Identifier: Apache-2.0
"""Errors of databases as the callers of a store see them."""

from sqlalchemy.exc import OperationalError

from scheduler_svc.store.sql.dialect import unavailable


def test_error_has_the_first_line_of_its_cause_without_the_statement() -> None:
    cause = ConnectionError("server closed the connection\nDETAIL: it said goodbye")
    error = OperationalError("SELECT claim FROM consumers", {"name": "hidden"}, cause)
    assert str(unavailable(error)).endswith("ConnectionError: server closed the connection")


def test_error_without_a_cause_names_itself() -> None:
    assert str(unavailable(TimeoutError("no answer"))).endswith("TimeoutError: no answer")
