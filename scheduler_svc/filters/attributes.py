# SPDX-License-Identifier: Apache-2.0
"""What Nova's HostState tells of a host, by its names there: for flavors and queries that speak of hosts in them."""

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rpcapi import errors
from rpcapi.model import names
from rpcapi.model.query import ATTRIBUTES, Kind
from scheduler_svc.reads import Reads
from scheduler_svc.table.columns import Column, FloatColumn
from scheduler_svc.table.view import View

MIB_PER_GIB = 1024
COUNTS = {"num_instances": "instances", "num_io_ops": "io_ops", "failed_builds": "failed_builds"}
NODES = ("nodename", "hypervisor_hostname")  # the canonical name of a node here

READS: Reads = {"compute": frozenset({"facts", "host_ip", "inventories", "used"})}
COUNTED: Reads = {"compute": frozenset(f"metrics.{metric}" for metric in COUNTS.values())}


def _counted(metric: str) -> Callable[[View], FloatColumn]:
    return lambda view: np.fmax(view.state("compute", f"metrics.{metric}"), 0.0)


def _used(view: View, resource_class: str) -> FloatColumn:
    return view.tree_capacity(resource_class) - view.tree_free(resource_class)


# Of hosts with all that hangs below them. Totals are capacities: what is reserved is out, allocation ratios are in.
NUMBERS: Mapping[str, Callable[[View], FloatColumn]] = {
    "vcpus_total": lambda view: view.tree_capacity("VCPU"),
    "vcpus_used": lambda view: _used(view, "VCPU"),
    "total_usable_ram_mb": lambda view: view.tree_capacity("MEMORY_MB"),
    "free_ram_mb": lambda view: view.tree_free("MEMORY_MB"),
    "total_usable_disk_gb": lambda view: view.tree_capacity("DISK_GB"),
    "free_disk_mb": lambda view: view.tree_free("DISK_GB") * MIB_PER_GIB,
    "disk_mb_used": lambda view: _used(view, "DISK_GB") * MIB_PER_GIB,
    **{name: _counted(metric) for name, metric in COUNTS.items()},
}


def number(view: View, path: Sequence[str]) -> FloatColumn:
    """Return a number a row, NaN where it is not told: of NUMBERS, or of the metrics that workers keep."""
    try:
        if path[0] in NUMBERS:
            return NUMBERS[path[0]](view)
        return view.state("compute", f"metrics.{path[1]}")
    except LookupError:  # a metric that no filter or weigher here reads, so that agents do not send it
        return np.full(view.size, np.nan)


def fact(path: Sequence[str]) -> Sequence[str]:
    """Return the keys in a host's facts that ``path`` leads to."""
    return path[1:] if path[0] in ("facts", "stats") else path


def found(facts: Mapping[str, Any], path: Sequence[str]) -> Any:
    """Return what is at ``path``, None where nothing is."""
    value: Any = facts
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def called(view: View, attribute: str, wanted: Sequence[str]) -> Column:
    """Return whose host, node or address is one of ``wanted``; what can be no such name is nobody's."""
    if ATTRIBUTES[attribute] is Kind.ADDRESS:
        networks = [ipaddress.ip_network(text) for text in wanted if _is(ipaddress.ip_address, text)]
        return np.logical_or.reduce([_nobody(view), *(view.within_network(network) for network in networks)])
    good = [text for text in wanted if _is(names.canonical, text)]
    if attribute not in NODES:
        return view.named([text for text in good if names.SEPARATOR not in text])
    column = _nobody(view)
    rows = [view.row(text, number) for text in good for number in range(len(view.standings))]
    column[[row for row in rows if row is not None]] = True
    return column


def addressed(view: View) -> Column:
    """Return who tells an address."""
    return np.logical_or.reduce([view.within_network(ipaddress.ip_network(every)) for every in ("0.0.0.0/0", "::/0")])


def _nobody(view: View) -> Column:
    return np.zeros(view.size, np.bool_)


def _is(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except (ValueError, errors.InvalidName):
        return False
    return True
