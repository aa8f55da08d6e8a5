# SPDX-License-Identifier: Apache-2.0
"""A query within its limits costs a decision a bounded number of steps, so that no tenant can stop a worker with it.

Nested comparisons evaluated their first operand once for each of the others, at each level: 100 parts took hours.
"""

import contextlib
import json
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from rpcapi.resources import query
from scheduler_svc.core.filters import json_query
from tests.support.scheduler.hosts import node, request, table

MAX_CALLS = 50_000  # function calls of one evaluation


class TooManyCalls(AssertionError):
    """Raised in code that makes more calls than it may."""


@contextlib.contextmanager
def limited_calls(maximum: int) -> Iterator[None]:
    """Raise TooManyCalls in the block after so many calls of Python functions: a measure that no machine changes."""
    remaining = maximum

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal remaining
        remaining -= event == "call"
        if remaining < 0:
            sys.setprofile(None)
            raise TooManyCalls(f"more than {maximum} calls")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)


def nested(operator: str, *, last: bool = False) -> list[Any]:
    """Return the deepest and widest query of one operator, nested in the first operand, or in the last one."""
    width = query.MAX_PARTS // query.MAX_DEPTH - 1
    term: list[Any] = [operator, *[1] * width]
    for _ in range(query.MAX_DEPTH - 1):
        others = [1] * (width - 1)
        term = [operator, *others, term] if last else [operator, term, *others]
    return term


def evaluate(hint: list[Any]) -> None:
    with table({"h1": node(), "h2": node()}).reading() as view, limited_calls(MAX_CALLS):
        list(json_query.FILTER.predicates(view, request(hints={query.HINT: json.dumps(hint)})))


@pytest.mark.parametrize("operator", query.CONNECTIVES)
def test_nested_connectives(operator: str) -> None:
    evaluate(nested(operator))


@pytest.mark.parametrize("operator", query.COMPARISONS)
def test_comparisons_nested_in_the_last_operand(operator: str) -> None:
    evaluate(nested(operator, last=True))


@pytest.mark.xfail(strict=True, raises=TooManyCalls, reason="A nested comparison is evaluated for each other operand.")
@pytest.mark.parametrize("operator", query.COMPARISONS)
def test_comparisons_nested_in_the_first_operand(operator: str) -> None:
    evaluate(nested(operator))
