# SPDX-License-Identifier: Apache-2.0
"""Isolation of hosts whose reports make a built-in filter or weigher fail."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from oslo_log import log

from rpcapi.resources import names
from scheduler_svc import metrics
from scheduler_svc.core.built_in import BuiltInFailed
from scheduler_svc.core.plugins.guard import FailurePolicy, PluginGuard
from scheduler_svc.core.table.view import View

LOG = log.getLogger(__name__)

# Repetitions per failure, after which the rows of one service host are no longer split.
MAX_REPETITIONS = 256
MAX_LOGGED = 10  # hosts per log line

T = TypeVar("T")
_GUARDS: dict[tuple[str, str], PluginGuard] = {}


def decide(view: View, function: Callable[[View], T]) -> T:
    """Return ``function(view)``. Set aside the hosts that make a built-in filter or weigher fail.

    Filters read all hosts at once, so an error names no host. To find the host, bisection repeats the failed step with
    the facts of ever fewer hosts. An error that does not depend on facts is raised.
    """
    while True:
        try:
            return function(view)
        except BuiltInFailed as failure:
            rows = find_failing_rows(view, failure.repeat)
            error = failure.__cause__
            if not isinstance(error, Exception):
                raise
            if not rows:
                raise error from None
            _record(failure, error, [view.name(row) for row in rows])
            view.set_aside(rows)


def find_failing_rows(view: View, repeat: Callable[[View], object]) -> list[int]:
    """Return the rows whose facts make ``repeat`` raise. Return none if it raises even without facts."""
    if _fails(view, repeat, []):
        return []
    repetitions = 0

    def search(rows: Sequence[int]) -> list[int]:
        nonlocal repetitions
        repetitions += 1
        if not rows or not _fails(view, repeat, rows):
            return []
        is_one_host = names.host_of(view.name(rows[0])) == names.host_of(view.name(rows[-1]))
        if len(rows) == 1 or (is_one_host and repetitions > MAX_REPETITIONS):
            return list(rows)
        half = len(rows) // 2
        return search(rows[:half]) + search(rows[half:])

    return search(view.rows_with_facts)


def _fails(view: View, repeat: Callable[[View], object], rows: Sequence[int]) -> bool:
    try:
        repeat(view.with_facts_of(rows))
    except Exception:  # filters may raise anything
        return True
    return False


def _record(failure: BuiltInFailed, error: Exception, hosts: Sequence[str]) -> None:
    named = ", ".join(hosts[:MAX_LOGGED]) + (f" and {len(hosts) - MAX_LOGGED} more" if len(hosts) > MAX_LOGGED else "")
    error.add_note(f"at hosts {named}")
    key = (failure.kind, failure.name)
    guard = _GUARDS.setdefault(key, PluginGuard(*key, "gantt itself", FailurePolicy(False, metrics.count_failure)))
    guard.record_failure(error)
    LOG.error("Set aside hosts whose reports make %s %s fail, until they report other facts: %s", *key, named)
