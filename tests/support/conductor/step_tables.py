# SPDX-License-Identifier: Apache-2.0
"""Tables of docs/architecture.md about the steps of the saga."""

import re
from pathlib import Path

from rpcapi.resources.statuses import InstanceStatus

PAGE = (Path(__file__).parents[3] / "docs" / "architecture.md").read_text()


def rows_of(header: str) -> list[list[str]]:
    """Return the cells of each row of the table that begins with ``header``."""
    lines = PAGE[PAGE.index(header) :].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def words(cell: str) -> list[str]:
    return re.findall(r"\w+", cell)


def _read_requests() -> dict[str, tuple[set[InstanceStatus], list[str]]]:
    requests = {}
    for methods, statuses, steps in rows_of("| request | in status |"):
        is_any = statuses == "any but DELETED"
        allowed = {*InstanceStatus} - {InstanceStatus.DELETED} if is_any else set(map(InstanceStatus, words(statuses)))
        for method in words(methods):
            requests[method] = (allowed, [] if steps == "the current step again" else words(steps))
    return requests


REQUESTS = _read_requests()  # {method: (statuses of the instances that it changes, steps that it sets)}
