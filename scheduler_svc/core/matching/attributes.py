# SPDX-License-Identifier: Apache-2.0
"""Host attributes by their names in Nova's HostState, for extra specs and queries."""

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rpcapi import errors
from rpcapi.resources import names
from rpcapi.resources.query import ATTRIBUTES, TermType
from scheduler_svc.core.reads import Reads
from scheduler_svc.core.table.columns import Column, FloatColumn
from scheduler_svc.core.table.view import View

MIB_PER_GIB = 1024
COUNTS = {"num_instances": "instances", "num_io_ops": "io_ops", "failed_builds": "failed_builds"}
NODES = ("nodename", "hypervisor_hostname")  # attributes that name the node, in gantt's canonical form

READS: Reads = {"compute": frozenset({"facts", "host_ip", "inventories", "used"})}
COUNT_READS: Reads = {"compute": frozenset(f"metrics.{metric}" for metric in COUNTS.values())}


def _metric_count(metric: str) -> Callable[[View], FloatColumn]:
    return lambda view: np.fmax(view.state("compute", f"metrics.{metric}"), 0.0)


def _used(view: View, resource_class: str) -> FloatColumn:
    return view.trees.capacity(resource_class) - view.trees.free(resource_class)


# Sums over host trees. Totals are capacities: reserved amounts and allocation ratios are already applied.
NUMBERS: Mapping[str, Callable[[View], FloatColumn]] = {
    "vcpus_total": lambda view: view.trees.capacity("VCPU"),
    "vcpus_used": lambda view: _used(view, "VCPU"),
    "total_usable_ram_mb": lambda view: view.trees.capacity("MEMORY_MB"),
    "free_ram_mb": lambda view: view.trees.free("MEMORY_MB"),
    "total_usable_disk_gb": lambda view: view.trees.capacity("DISK_GB"),
    "free_disk_mb": lambda view: view.trees.free("DISK_GB") * MIB_PER_GIB,
    "disk_mb_used": lambda view: _used(view, "DISK_GB") * MIB_PER_GIB,
    **{name: _metric_count(metric) for name, metric in COUNTS.items()},
}


def number(view: View, path: Sequence[str]) -> FloatColumn:
    """Return an attribute in NUMBERS or a reported metric per row; NaN where unknown."""
    try:
        if path[0] in NUMBERS:
            return NUMBERS[path[0]](view)
        return view.state("compute", f"metrics.{path[1]}")
    except LookupError:  # agents send only metrics that a filter or weigher reads
        return np.full(view.size, np.nan)


def fact_path(path: Sequence[str]) -> Sequence[str]:
    return path[1:] if path[0] in ("facts", "stats") else path


def lookup(facts: Mapping[str, Any], path: Sequence[str]) -> Any:
    value: Any = facts
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def matches_name(view: View, attribute: str, texts: Sequence[str]) -> Column:
    """Return a mask of the rows whose host, node or address is in ``texts``. Invalid names match nothing."""
    if ATTRIBUTES[attribute] is TermType.ADDRESS:
        networks = [ipaddress.ip_network(text) for text in texts if _is_valid(ipaddress.ip_address, text)]
        return _any_of([_no_rows(view), *(view.in_network(network) for network in networks)])
    valid = [text for text in texts if _is_valid(names.canonical, text)]
    if attribute not in NODES:
        return view.match_names([text for text in valid if names.SEPARATOR not in text])
    column = _no_rows(view)
    rows = [view.row(text, number) for text in valid for number in range(len(view.log_positions))]
    column[[row for row in rows if row is not None]] = True
    return column


def has_address(view: View) -> Column:
    return _any_of([view.in_network(ipaddress.ip_network(text)) for text in ("0.0.0.0/0", "::/0")])


def _any_of(columns: Sequence[Column]) -> Column:
    column: Column = np.logical_or.reduce(columns)
    return column


def _no_rows(view: View) -> Column:
    return np.zeros(view.size, np.bool_)


def _is_valid(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except (ValueError, errors.InvalidName):
        return False
    return True
