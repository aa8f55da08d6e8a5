# SPDX-License-Identifier: Apache-2.0
"""Hosts of a Nova, by the documents of their compute nodes."""

import dataclasses

import pytest

from rpcapi.resources import transient
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.namespaces.registry import NamespaceRegistry
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.request import FilterScope
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.nova import namespaces, service_filter
from tests.support.nova.nova import CELL, compute_node
from tests.support.scheduler.hosts import node, request, snapshot

FILTERS = [service_filter.FILTER, *pipeline.build(["ResourcesFilter"]), service_filter.WAITING]
HOST = "@api/h1"


def table_of(document, traits=(), bridge=None):
    states = {"compute_node": {HOST: document} if document else {}, "nova_bridge": {"bridge": bridge} if bridge else {}}
    state = dataclasses.replace(snapshot({HOST: node(traits=traits)}), states=states)
    return HostTable.from_snapshot(state, reads=service_filter.FILTER.reads)


def reasons(table, **fields):
    with table.reading() as view:
        return dict(pipeline.run(FILTERS, view, request(**fields)).reasons)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (compute_node(), {}),
        (compute_node(up=False), {service_filter.REASON_DOWN: 1}),
        (compute_node(disabled=True), {service_filter.REASON_DISABLED: 1}),
        (compute_node(forced_down=True), {service_filter.REASON_FORCED_DOWN: 1}),
        (compute_node(forced_down=True, up=False), {service_filter.REASON_FORCED_DOWN: 1}),
        (compute_node(mapped=False), {service_filter.REASON_UNMAPPED: 1}),
        (compute_node(cell_disabled=True), {service_filter.REASON_CELL: 1}),
    ],
)
def test_each_state_of_a_service_has_its_reason(document, expected):
    assert reasons(table_of(document)) == expected


def test_provider_without_a_compute_node_is_no_host():
    with table_of(None).reading() as view:
        assert pipeline.run(FILTERS, view, request()).hosts == 0


def test_host_of_an_agent_is_none_of_nova():
    state = dataclasses.replace(snapshot({"h/n": node()}), states={})
    table = HostTable.from_snapshot(state, reads=service_filter.FILTER.reads)
    assert reasons(table) == {service_filter.REASON_UNKNOWN: 1}


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (FilterScope.FORCED, {service_filter.REASON_DISABLED: 1}),
        (FilterScope.REBUILD, {}),
    ],
)
def test_forced_hosts_and_rebuilds_look_at_no_service(scope, expected):
    table = table_of(compute_node(up=False, disabled=True, forced_down=True), traits=["COMPUTE_STATUS_DISABLED"])
    assert reasons(table, scope=scope) == expected


@pytest.mark.parametrize(("cell", "expected"), [(CELL, {}), ("other", {service_filter.REASON_OTHER_CELL: 1})])
def test_instance_stays_in_its_cell_though_that_is_disabled(cell, expected):
    table = table_of(compute_node(cell_disabled=True))
    assert reasons(table, source_cell=cell, stays_in_cell=True) == expected


def test_host_with_the_trait_of_a_disabled_service_is_rejected_though_its_record_is_enabled():
    table = table_of(compute_node(), traits=["COMPUTE_STATUS_DISABLED"])
    assert reasons(table) == {service_filter.REASON_DISABLED: 1}


@pytest.mark.parametrize(("own", "expected"), [(True, {service_filter.REASON_OWNER: 1}), (False, {})])
def test_owner_trait_is_required_once_all_computes_set_it(own, expected):
    bridge = {"read_ms": 0, "interval_ms": 5000, "cells": {}, "all_computes_own": own}
    assert reasons(table_of(compute_node(), bridge=bridge)) == expected
    assert reasons(table_of(compute_node(), ["OWNER_NOVA"], bridge)) == {}


def test_volumes_are_not_placed_on_computes():
    state = dataclasses.replace(snapshot({"pool": {**node(), "kind": "volume"}}), states={})
    table = HostTable.from_snapshot(state, reads=service_filter.FILTER.reads)
    assert reasons(table, service="volume") == {}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (compute_node(up=False, just_down=True), transient.COMPUTE_JUST_DOWN),
        (compute_node(up=False, just_down=True, disabled=True), service_filter.REASON_DISABLED),
        (compute_node(up=False), service_filter.REASON_DOWN),
    ],
)
def test_service_is_just_down_only_if_its_host_meets_all_other_conditions(document, expected):
    assert reasons(table_of(document)) == {expected: 1}
    if expected == transient.COMPUTE_JUST_DOWN:
        assert reasons(table_of(document), resources={"VCPU": 100}) == {"not enough VCPU": 1}
        assert reasons(table_of(document), scope=FilterScope.FORCED) == {}


def test_transition_in_the_log_takes_effect():
    table = table_of(compute_node())
    table.apply(LogEntry(101, "state", {"compute_node": {HOST: compute_node(up=False)}}))
    assert reasons(table) == {service_filter.REASON_DOWN: 1}
    table.apply(LogEntry(102, "state", {"compute_node": {HOST: None}}))
    with table.reading() as view:
        assert view.of_kind("compute").tolist() == [False]


def test_documents_of_the_tests_fit_the_schema():
    NamespaceRegistry(namespaces.build()).find("compute_node").check_document(HOST, compute_node())
