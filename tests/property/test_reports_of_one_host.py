# SPDX-License-Identifier: Apache-2.0
"""No document of one host makes a decision fail, or changes whether another host is eligible."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.query import ATTRIBUTES, MAX_NUMBER, TermType
from scheduler_svc.core import built_in
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.options import FilterOptions
from scheduler_svc.core.namespaces import compute
from scheduler_svc.core.reads import Reads, union
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View
from scheduler_svc.core.trees.finder import AllocationFinder
from scheduler_svc.core.weighers import scoring
from scheduler_svc.host_state.reports import check_nodes, drop_refused_facts
from scheduler_svc.scheduling import failing_hosts
from tests.support.clouds import clouds
from tests.support.scheduler.hosts import child_provider, node, request, table

FILTERS = pipeline.build(built_in.FILTER_NAMES, FilterOptions(default_architecture="x86_64", metrics=("io_ops",)))
WEIGHERS = scoring.build(dict.fromkeys(built_in.WEIGHER_NAMES, 1.0))
READS: Reads = union(
    [
        *(host_filter.reads for host_filter in FILTERS),
        WEIGHERS.reads,
        {"compute": frozenset({"metrics.instances", "metrics.failed_builds"})},
    ]
)

numbers = st.one_of(
    st.sampled_from((-1, 0, 1, 2**31, MAX_NUMBER, -MAX_NUMBER, 2**63, 10**400, -(10**400), 1e308, -1e308, 0.5)),
    st.integers(-5, 10),
)
plain = st.one_of(st.none(), st.booleans(), numbers, st.sampled_from(("", "QEMU", "x86_64", "1", "kvm", "x" * 300)))
anything = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("a", "bits", "maxphysaddr", "topology", "cores", "")), inner, max_size=3)
    ),
    max_leaves=8,
)
names = st.sampled_from((*compute.FACTS, "rack", "nothing"))
# Values of other types than filters expect, which `anything` has too rarely.
wrong_facts = st.fixed_dictionaries(
    {},
    optional={
        "hypervisor_type": st.sampled_from(({"a": [1]}, 7)),
        "hypervisor_version": numbers | st.sampled_from(("8.2", [1], True)),
        "supported_instances": st.sampled_from(
            (5, [5], [[{}]], {"a": 1}, [["x86_64"]], [["x86_64", "kvm", "hvm", []]])
        ),
        "cpu_info": st.sampled_from(("text", [1], {"maxphysaddr": 5}, {"topology": {"cores": 10**400}}))
        | st.builds(lambda bits: {"maxphysaddr": {"bits": bits}}, anything),
        "location": st.sampled_from(([], 1)),
        "rack": numbers,
    },
)
hostile_facts = st.builds(
    lambda valid, wrong, changed: {**valid, **wrong, **changed},
    clouds.facts,
    wrong_facts,
    st.dictionaries(names, anything, max_size=2),
)
requests = clouds.requests | clouds.queries.map(clouds.query_request)
TOTAL = {"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 20}
KVM = {"supported_instances": [["x86_64", "kvm", "hvm"]], "hypervisor_version": 8_002_000, "hypervisor_type": "QEMU"}
XEN = {"supported_instances": [["x86_64", "xen", "xen"]], "rack": "1", "cpu_info": {"maxphysaddr": {"bits": 46}}}


def cloud_with(facts: dict[str, Any], metrics: dict[str, float] | None = None) -> dict[str, Any]:
    """Return a cloud of hosts with valid reports, and one, the last, with these facts and metrics."""
    hosts: list[dict[str, Any]] = [
        {
            **{"name": name, "up": True, "enabled": True, "total": TOTAL, "used": {}, "facts": reported},
            **{"metrics": {"instances": 1, "io_ops": 1}, "host_ip": f"10.0.0.{number}", "instances": [f"i{number}"]},
        }
        for number, (name, reported) in enumerate({"h0": KVM, "h1": XEN, "h2": KVM | XEN, "h3": facts}.items())
    ]
    hosts[-1]["metrics"] |= metrics or {}
    return {"hosts": hosts, "aggregates": []}


def eligible_others(facts: dict[str, Any], request_data: dict[str, Any]) -> set[str]:
    """Return the hosts that pass all filters beside a host with these facts."""
    cloud = cloud_with(facts)
    with clouds.table(cloud, READS).reading() as view:
        scheduling_request = clouds.request(cloud, request_data)
        survivors = failing_hosts.decide(view, lambda view: pipeline.run(FILTERS, view, scheduling_request))
        return {*view.names(np.flatnonzero(survivors.passes))} - {"h3"}


@settings(max_examples=150, deadline=None)
@given(hostile_facts, requests)
def test_facts_of_one_host_never_change_the_eligibility_of_another(facts, request_data):
    assert eligible_others(facts, request_data) == eligible_others({}, request_data)


def decide(view: View, scheduling_request: SchedulingRequest) -> None:
    """Run all filters on all hosts, whatever others reject, and all weighers; raises what they raise."""
    for host_filter in FILTERS:
        for predicate in host_filter.predicates(view, scheduling_request):
            assert predicate.passes.shape == (view.size,)
    scores = scoring.score(WEIGHERS, view, scheduling_request, None)
    assert np.isfinite(scores.values).all()


@settings(max_examples=150, deadline=None)
@given(
    hostile_facts,
    st.dictionaries(st.sampled_from(("instances", "io_ops", "failed_builds")), numbers),
    requests,
)
def test_what_is_stored_of_a_report_makes_no_filter_or_weigher_fail(facts, metrics, request_data):
    valid_metrics = {name: value for name, value in metrics.items() if compute.METRIC.is_valid(value)}
    reported = {"inventories": {"VCPU": {"total": 1}}, "facts": facts, "metrics": valid_metrics}
    valid_nodes, _ = drop_refused_facts(check_nodes("h", {"h": reported}, True))
    cloud = cloud_with(valid_nodes["h"]["facts"], valid_nodes["h"]["metrics"])
    with clouds.table(cloud, READS).reading() as view:
        decide(view, clouds.request(cloud, request_data))


cpu_lists = st.lists(st.lists(st.integers(-1, 5), max_size=3), max_size=4)
cpu_texts = st.sampled_from(("", "0-3", "0,2", "5", "0-65535", "x", "0-99999999"))
valid_cells = st.fixed_dictionaries(
    {
        "id": st.integers(0, 2),
        "path": st.sampled_from(("numa0", "numa1", "", "elsewhere")),
        "socket": st.integers(0, 1),
        "cores": cpu_lists,
        "shared": cpu_texts,
        "threads": st.sampled_from((0, 1, 2, 64)),
        "pinned": cpu_texts,
        "pages": st.dictionaries(
            st.sampled_from(("2048", "0", "4", "x", "10000000000")), st.lists(st.integers(0, 9), min_size=2, max_size=2)
        ),
    }
)
cells = st.lists(
    valid_cells
    | st.builds(
        lambda valid, changed: {**valid, **changed},
        valid_cells,
        st.dictionaries(st.sampled_from(("id", "path", "cores", "threads", "pinned", "pages")), anything, max_size=2),
    ),
    max_size=3,
)
GUEST_CELLS = [{"id": 0, "group": "_numa0", "cpus": [0, 1], "pcpus": [0, 1], "memory_mb": 64}]


@settings(max_examples=150, deadline=None)
@given(cells, st.sampled_from(("prefer", "require", "isolate")), st.sampled_from((None, 4, 2048)))
def test_stored_numa_cells_make_no_search_fail(reported, thread_policy, page_size):
    nodes = {"a": node({"DISK_GB": 100}) | {"numa": reported}}
    valid_nodes, refusals = drop_refused_facts(nodes)
    documents = {
        "a": {**valid_nodes["a"], "numa": valid_nodes["a"]["numa"] or []},
        **{f"a/numa{number}": child_provider("a", "a", {"PCPU": 4, "MEMORY_MB": 8192}) for number in range(2)},
    }
    used = {"a/numa0": {"PCPU": 1}}
    numa = {"cells": GUEST_CELLS, "cpu_policy": "dedicated", "thread_policy": thread_policy, "page_size_kb": page_size}
    group = RequestGroup("_numa0", {"PCPU": 2, "MEMORY_MB": 64})
    scheduling_request = request({"DISK_GB": 1}, groups=(group,), groups_policy="none", numa=numa)
    assert {refusal.kwargs["fact"] for refusal in refusals} <= {"numa"}
    with table(documents, used).reading() as view:
        row = view.row("a")
        assert row is not None
        AllocationFinder(view, scheduling_request).find(row)


class RecordedFacts(dict):
    """Facts that record which of them are read."""

    def __init__(self, facts: dict[str, Any], read: set[str]) -> None:
        super().__init__(facts)
        self._read = read

    def get(self, key: str, default: Any = None) -> Any:
        self._read.add(key)
        return super().get(key, default)


def test_every_fact_that_a_filter_or_weigher_names_is_declared():
    read: set[str] = set()
    facts = {"supported_instances": [["x86_64", "kvm", "hvm"]], "hypervisor_version": 1, "cpu_info": {}}
    nodes = {"a": node() | {"facts": RecordedFacts(facts, read)}}
    image = {"properties": {"hw_architecture": "x86_64", "img_hv_requested_version": ">=0", "hw_maxphysaddr_bits": 4}}
    scheduling_request = request(image=image, extra_specs={"hw:maxphysaddr_bits": "4"}, volumes=({"pool": "p"},))
    documents = {"volume": {"p": {"location": "rack"}}}
    host_table = table(nodes, reads=READS)
    for namespace, entries in documents.items():
        host_table._set_states(host_table.partitions[0], namespace, entries, 101)
    with host_table.reading() as view:
        decide(view, scheduling_request)
    attributes = {name for name, kind in ATTRIBUTES.items() if kind is TermType.FACT}
    assert read | attributes == compute.FACTS.keys()
