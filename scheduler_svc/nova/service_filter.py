# SPDX-License-Identifier: Apache-2.0
"""Filter that rejects hosts on which Nova cannot build. With [nova] enabled, it runs first and again last."""

from collections.abc import Iterator

from rpcapi.resources import transient
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.namespaces import compute_node
from scheduler_svc.core.request import COMPUTE, FilterScope, SchedulingRequest
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View
from scheduler_svc.nova import namespaces

NAME = "NovaServiceFilter"
DISABLED_TRAIT = "COMPUTE_STATUS_DISABLED"
OWNER_TRAIT = "OWNER_NOVA"

REASON_UNKNOWN = "no compute service in Nova"
REASON_UNMAPPED = "not mapped to a cell"
REASON_CELL = "cell disabled"
REASON_UNREAD_CELL = "state of the cell too old"
REASON_FORCED_DOWN = "compute service forced down"
REASON_DOWN = "compute service down"
REASON_DISABLED = "compute service disabled"
REASON_OWNER = "not owned by Nova"
REASON_OTHER_CELL = "in another cell than the instance"
REASONS = (
    *(REASON_UNKNOWN, REASON_OWNER, REASON_UNMAPPED, REASON_OTHER_CELL, REASON_CELL, REASON_UNREAD_CELL),
    *(REASON_FORCED_DOWN, REASON_DOWN, REASON_DISABLED),
)


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    if request.service != COMPUTE:
        return
    if request.scope is not FilterScope.PLACEMENT:
        up = view.state(compute_node.NAMESPACE, "up")
        yield HostPredicate(REASON_UNKNOWN, up == up)  # noqa: PLR0124 - false for NaN, which means no document
    bridge = view.documents(namespaces.BRIDGE_NAMESPACE).get(namespaces.BRIDGE, {})
    if bridge.get("all_computes_own") and request.scope is not FilterScope.REBUILD:
        yield HostPredicate(REASON_OWNER, view.hosts.has_all([OWNER_TRAIT]))
    if request.scope is not FilterScope.PLACEMENT:
        yield from _cell_predicates(view, request)
    yield from _service_predicates(view, request.scope)


def _cell_predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    yield HostPredicate(REASON_UNMAPPED, _is(view, "mapped", 1))
    if request.stays_in_cell:
        # As in Nova, an instance may move within a disabled cell.
        yield HostPredicate(
            REASON_OTHER_CELL, view.state_is(compute_node.NAMESPACE, compute_node.CELL, request.source_cell or "")
        )
    else:
        yield HostPredicate(REASON_CELL, _is(view, "cell_disabled", 0))
    for cell in request.decision.unread_cells:
        if cell not in request.decision.just_unread_cells:
            yield HostPredicate(REASON_UNREAD_CELL, _outside(view, cell))


def _service_predicates(view: View, scope: FilterScope) -> Iterator[HostPredicate]:
    """Accept hosts whose compute service is up and enabled. For forced hosts, Nova checks only the trait."""
    if scope is FilterScope.ALL:
        yield HostPredicate(REASON_FORCED_DOWN, _is(view, "forced_down", 0))
        yield HostPredicate(REASON_DOWN, _is(view, "up", 1) | _is(view, namespaces.JUST_DOWN_KEY, 1))
        yield HostPredicate(REASON_DISABLED, _is(view, "disabled", 0))
    if scope is not FilterScope.REBUILD:
        # The trait and the service's disabled flag change at different times.
        yield HostPredicate(REASON_DISABLED, view.hosts.has_none([DISABLED_TRAIT]))


def waiting_predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Reject hosts that have just gone down, or whose state is just too old; last, because callers wait for them."""
    if request.service != COMPUTE:
        return
    if request.scope is FilterScope.ALL:
        yield HostPredicate(transient.COMPUTE_JUST_DOWN, _is(view, "up", 1))
    if request.scope is not FilterScope.PLACEMENT:
        for cell in request.decision.just_unread_cells:
            yield HostPredicate(transient.CELL_JUST_OLD, _outside(view, cell))


def _outside(view: View, cell: str) -> Column:
    return ~view.state_is(compute_node.NAMESPACE, compute_node.CELL, cell)


def _is(view: View, key: str, value: int) -> Column:
    column: Column = view.state(compute_node.NAMESPACE, key) == value
    return column


FILTER = Filter(
    NAME,
    predicates,
    {
        "compute": frozenset({"traits"}),
        compute_node.NAMESPACE: frozenset(
            {
                *(*namespaces.STATUS_KEYS, namespaces.JUST_DOWN_KEY),
                *compute_node.HOST_KEYS,
                *(compute_node.SERVICE_HOST, compute_node.NODE, compute_node.CELL),
            }
        ),
        namespaces.BRIDGE_NAMESPACE: frozenset({"read_ms", "interval_ms", "cells", "all_computes_own"}),
    },
    reasons=REASONS,
    in_every_scope=True,
)
WAITING = Filter(
    NAME,
    waiting_predicates,
    {compute_node.NAMESPACE: frozenset({"up", compute_node.CELL})},
    reasons=(transient.COMPUTE_JUST_DOWN, transient.CELL_JUST_OLD),
    in_every_scope=True,
)
