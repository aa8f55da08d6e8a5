# SPDX-License-Identifier: Apache-2.0
"""Protection against plugins that raise, return invalid values or modify their input."""

import copy
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from oslo_log import log

from rpcapi import errors
from scheduler_svc.core import timings
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column, FloatColumn, Rows, read_only
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher

LOG = log.getLogger(__name__)

MAX_PREDICATES = 100
MAX_REASON_LENGTH = 120  # characters
QUIET_SECONDS = 60.0  # minimum time between log lines about one plugin
_MAPPINGS = ("resources", "hints", "numa", "image", "extra_specs")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FailurePolicy:
    fatal: bool  # a failure refuses the request; otherwise the decision continues without the plugin
    count: Callable[[str, str], None]  # called with the plugin's kind and name, for metrics


class PluginGuard:
    def __init__(self, kind: str, name: str, source: str, policy: FailurePolicy) -> None:
        """``kind`` is "filter" or "weigher", ``source`` the plugin's distribution."""
        self.kind = kind
        self.name = name
        self.source = source
        self.policy = policy
        self.timings = timings.find_timings(kind, name)
        self._logged_at = -QUIET_SECONDS

    def call(self, function: Callable[[], T], default: T, hosts: int) -> T:
        """Return the plugin's result, or ``default`` on failure. Raises PluginFailed if failures are fatal."""
        started = time.perf_counter()
        try:
            return function()
        except Exception as error:  # plugin code may raise anything
            self.record_failure(error)
            return default
        finally:
            self.timings.add(time.perf_counter() - started, hosts)

    def record_failure(self, error: Exception) -> None:
        """Count a failure and log it at most once per QUIET_SECONDS. Raises PluginFailed if failures are fatal."""
        self.timings.errors += 1
        self.timings.last_error = describe_error(error)
        self.policy.count(self.kind, self.name)
        now = time.monotonic()
        if now - self._logged_at >= QUIET_SECONDS:
            self._logged_at = now
            LOG.exception(
                "Plugin failed: %s %s of %s, %d failures so far",
                self.kind,
                self.name,
                self.source,
                self.timings.errors,
            )
        if self.policy.fatal:
            fields = {"kind": self.kind, "name": self.name, "source": self.source}
            raise errors.PluginFailed(**fields, why=self.timings.last_error) from error


def guard_filter(plugin: Filter, guard: PluginGuard) -> Filter:
    """Wrap the filter so that it accepts all hosts if it fails."""
    per_host_function = plugin.per_host
    guard.timings.form = timings.COLUMNAR if per_host_function is None else timings.PER_HOST

    def per_host(view: View, request: SchedulingRequest, passed: Column) -> Iterable[HostPredicate]:
        def call_plugin() -> list[HostPredicate]:
            request_copy = copy_request(request)
            predicates = (
                plugin.predicates(view, request_copy)
                if per_host_function is None
                else per_host_function(view, request_copy, read_only(passed, view.size))
            )
            return _check_predicates(predicates, view.size)

        hosts = view.size if per_host_function is None else int(np.count_nonzero(passed))
        return guard.call(call_plugin, [], hosts)

    return replace(plugin, predicates=lambda view, request: per_host(view, request, view.present), per_host=per_host)


def guard_weigher(plugin: Weigher, guard: PluginGuard) -> Weigher:
    """Wrap the weigher so that it adds nothing to any score if it fails."""
    per_host_function = plugin.per_host
    guard.timings.form = timings.COLUMNAR if per_host_function is None else timings.PER_HOST

    def per_host(view: View, request: SchedulingRequest, rows: Rows | None) -> FloatColumn:
        count = view.size if rows is None else len(rows)

        def call_plugin() -> FloatColumn:
            request_copy = copy_request(request)
            if per_host_function is not None:
                return _check_numbers(per_host_function(view, request_copy, rows), count)
            raw = plugin.raw(view, request_copy)
            if raw is None:  # None means that all rows are equal
                return np.zeros(count)
            all_values = _check_numbers(raw, view.size, finite=False)
            return _check_finite(all_values if rows is None else all_values.take(rows))

        return guard.call(call_plugin, np.zeros(count), count if per_host_function is not None else view.size)

    def step(request: SchedulingRequest) -> float:
        # Steps are neither timed nor counted as calls; only their failures are.
        try:
            change = float(plugin.step(copy_request(request)))
        except Exception as error:  # plugin code may raise anything
            guard.record_failure(error)
            return 0.0
        return change if np.isfinite(change) else 0.0

    return replace(plugin, raw=lambda view, request: per_host(view, request, None), step=step, per_host=per_host)


def copy_request(request: SchedulingRequest) -> SchedulingRequest:
    """Copy the request and its mappings, so that a plugin cannot modify the original."""
    mappings = {name: getattr(request, name) for name in _MAPPINGS}
    copies: dict[str, Any] = {name: copy.deepcopy(dict(value)) for name, value in mappings.items() if value}
    decision = request.decision
    if decision.instance_hosts or decision.members:
        decision = replace(decision, instance_hosts=dict(decision.instance_hosts), members=dict(decision.members))
    return replace(request, groups=copy.deepcopy(request.groups), decision=decision, **copies)


def describe_error(error: BaseException) -> str:
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    return f"{type(error).__name__}: {str(error)[:300]}{notes}"


def _check_predicates(predicates: Any, size: int) -> list[HostPredicate]:
    checked = []
    for predicate in predicates:
        if not isinstance(predicate, HostPredicate) or not isinstance(predicate.reason, str):
            raise TypeError(f"predicates must be HostPredicate(reason, column), got {type(predicate).__name__}")
        passes = predicate.passes
        if not isinstance(passes, np.ndarray) or passes.dtype != np.bool_ or passes.shape != (size,):
            raise TypeError(f"a predicate's column must be {size} booleans, got {_describe_shape(passes)}")
        checked.append(HostPredicate(predicate.reason[:MAX_REASON_LENGTH], passes))
        if len(checked) > MAX_PREDICATES:
            raise ValueError(f"a filter may yield at most {MAX_PREDICATES} predicates")
    return checked


def _check_numbers(values: Any, size: int, *, finite: bool = True) -> FloatColumn:
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu" or values.shape != (size,):
        raise TypeError(f"a weigher must return {size} numbers, got {_describe_shape(values)}")
    column = values.astype(np.float64, copy=False)
    return _check_finite(column) if finite else column


def _check_finite(column: FloatColumn) -> FloatColumn:
    if not np.isfinite(column).all():
        raise ValueError(f"{int((~np.isfinite(column)).sum())} of {len(column)} numbers are not finite")
    return column


def _describe_shape(values: Any) -> str:
    if isinstance(values, np.ndarray):
        return f"an array of {values.dtype} of shape {values.shape}"
    return f"a {type(values).__name__}"
