# SPDX-License-Identifier: Apache-2.0
"""Keeps a decision whole whatever a filter or weigher from outside does: raises, answers nonsense, writes."""

import copy
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from oslo_log import log

from rpcapi import errors
from scheduler_svc import metrics
from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.plugins import figures
from scheduler_svc.request import Request
from scheduler_svc.table.columns import Column, FloatColumn, Rows
from scheduler_svc.table.view import View
from scheduler_svc.weighers.weigher import Weigher

LOG = log.getLogger(__name__)

MOST_SIEVES = 100
LONGEST_REASON = 120  # characters
QUIET_SECONDS = 60.0  # between two lines in the log about one plugin
_MAPPINGS = ("resources", "hints", "numa", "image", "extra_specs", "located", "members")

T = TypeVar("T")


class Guard:
    """Asks one plugin. ``fatal``: its failure is the request's; else the decision goes on without it."""

    def __init__(self, kind: str, name: str, source: str, fatal: bool) -> None:
        """``kind`` is "filter" or "weigher", ``source`` the distribution that the plugin is of."""
        self.kind = kind
        self.name = name
        self.source = source
        self.fatal = fatal
        self.figures = figures.of(kind, name)
        self._told_at = -QUIET_SECONDS

    def ask(self, question: Callable[[], T], otherwise: T, hosts: int) -> T:
        """Return what the plugin answers, ``otherwise`` where it fails; raises PluginFailed where that is fatal."""
        began = time.perf_counter()
        try:
            return question()
        except Exception as error:  # what somebody else wrote may raise anything
            self.failed(error)
            return otherwise
        finally:
            self.figures.add(time.perf_counter() - began, hosts)

    def failed(self, error: Exception) -> None:
        """Count a failure, and log it unless another was a moment ago; raises PluginFailed where that is fatal."""
        self.figures.errors += 1
        self.figures.last_error = sentence(error)
        metrics.PLUGIN_ERRORS.labels(kind=self.kind, name=self.name).inc()
        now = time.monotonic()
        if now - self._told_at >= QUIET_SECONDS:
            self._told_at = now
            LOG.exception(
                "The %s %s, a plugin of %s, failed; %d times so far",
                self.kind,
                self.name,
                self.source,
                self.figures.errors,
            )
        if self.fatal:
            told = {"kind": self.kind, "name": self.name, "source": self.source}
            raise errors.PluginFailed(**told, why=self.figures.last_error) from error


def guarded_filter(made: Filter, guard: Guard) -> Filter:
    """Return the filter under ``guard``: it has its effect whole, or none."""
    asked = made.among
    guard.figures.form = figures.COLUMNAR if asked is None else figures.PER_HOST

    def among(view: View, request: Request, left: Column) -> Iterable[Sieve]:
        def question() -> list[Sieve]:
            mine = own(request)
            sieves = made.sieves(view, mine) if asked is None else asked(view, mine, _still(left))
            return _checked(sieves, view.size)

        hosts = view.size if asked is None else int(np.count_nonzero(left))
        return guard.ask(question, [], hosts)

    return replace(made, sieves=lambda view, request: among(view, request, view.there), among=among)


def guarded_weigher(made: Weigher, guard: Guard) -> Weigher:
    """Return the weigher under ``guard``; one that failed adds nothing."""
    asked = made.among
    guard.figures.form = figures.COLUMNAR if asked is None else figures.PER_HOST

    def among(view: View, request: Request, rows: Rows | None) -> FloatColumn:
        count = view.size if rows is None else len(rows)

        def question() -> FloatColumn:
            mine = own(request)
            if asked is not None:
                return _figures(asked(view, mine, rows), count)
            raw = made.raw(view, mine)
            if raw is None:  # all alike
                return np.zeros(count)
            figures_of_all = _figures(raw, view.size, finite=False)
            return _finite(figures_of_all if rows is None else figures_of_all.take(rows))

        return guard.ask(question, np.zeros(count), count if asked is not None else view.size)

    def step(request: Request) -> float:
        # Beside the figure itself, so it is not counted as a look of its own unless it fails.
        try:
            change = float(made.step(own(request)))
        except Exception as error:  # as above
            guard.failed(error)
            return 0.0
        return change if np.isfinite(change) else 0.0

    return replace(made, raw=lambda view, request: among(view, request, None), step=step, among=among)


def own(request: Request) -> Request:
    """Return the request with mappings of its own: whatever a plugin does to them stays with it."""
    held = {name: getattr(request, name) for name in _MAPPINGS}
    given: dict[str, Any] = {name: copy.deepcopy(dict(value)) for name, value in held.items() if value}
    return replace(request, groups=copy.deepcopy(request.groups), **given)


def sentence(error: BaseException) -> str:
    """Return what an error says, with its kind, and where it was noted."""
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    return f"{type(error).__name__}: {str(error)[:300]}{notes}"


def _still(column: Column) -> Column:
    seen = column.view()
    seen.setflags(write=False)
    return seen


def _checked(sieves: Any, size: int) -> list[Sieve]:
    found = []
    for each in sieves:
        if not isinstance(each, Sieve) or not isinstance(each.reason, str):
            raise TypeError(f"it must give Sieve(reason, column), not {type(each).__name__}")
        passes = each.passes
        if not isinstance(passes, np.ndarray) or passes.dtype != np.bool_ or passes.shape != (size,):
            raise TypeError(f"a sieve's column must be {size} booleans, not {_shape(passes)}")
        found.append(Sieve(each.reason[:LONGEST_REASON], passes))
        if len(found) > MOST_SIEVES:
            raise ValueError(f"it gives more than {MOST_SIEVES} sieves")
    return found


def _figures(answer: Any, size: int, *, finite: bool = True) -> FloatColumn:
    if not isinstance(answer, np.ndarray) or answer.dtype.kind not in "fiu" or answer.shape != (size,):
        raise TypeError(f"its figures must be {size} numbers, not {_shape(answer)}")
    column = answer.astype(np.float64, copy=False)
    return _finite(column) if finite else column


def _finite(column: FloatColumn) -> FloatColumn:
    if not np.isfinite(column).all():
        raise ValueError(f"{int((~np.isfinite(column)).sum())} of its {len(column)} figures are not finite")
    return column


def _shape(answer: Any) -> str:
    if isinstance(answer, np.ndarray):
        return f"an array of {answer.dtype} of shape {answer.shape}"
    return f"a {type(answer).__name__}"
