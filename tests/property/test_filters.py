# SPDX-License-Identifier: Apache-2.0
"""Every filter, and the pipeline, compared with a loop over hosts in plain Python."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi.resources import names, transient
from rpcapi.resources.inventory import Inventory, fits, misfit
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.records import Snapshot
from scheduler_svc.core.request import DecisionContext, SchedulingRequest
from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler.hosts import EPOCH, node, provider

CLASSES = ("VCPU", "MEMORY_MB", "CUSTOM_GPU")
TRAITS = tuple(f"CUSTOM_T{number}" for number in range(70))  # more than one word of bits
SOME_TRAITS = st.lists(st.sampled_from((TRAITS[0], TRAITS[1], TRAITS[63], TRAITS[64], TRAITS[69])), unique=True)
ZONES = st.sampled_from((None, "az1", "az2", "az3"))
# The filters that can reject hosts for a request without hints, image, extra specs or groups.
BASIC_FILTERS = (
    *("ComputeFilter", "ForceHostsFilter", "IgnoreHostsFilter", "ServerGroupAffinityFilter"),
    *("ServerGroupAntiAffinityFilter", "AvailabilityZoneFilter", "TraitsFilter", "ResourcesFilter"),
)
SERVICES = ("a", "b", "c", "d")
NAMES = (*(f"{host}/{number}" for host in SERVICES[:3] for number in range(3)), "d")
REQUESTED_HOSTS = st.lists(st.sampled_from((*SERVICES, *NAMES, "nowhere", "a/9")), max_size=4)

inventories = st.builds(
    Inventory,
    total=st.integers(8, 40),
    reserved=st.integers(0, 8),
    min_unit=st.sampled_from((1, 1, 1, 3)),
    max_unit=st.sampled_from((2**31 - 1, 2**31 - 1, 7)),
    step_size=st.sampled_from((1, 1, 1, 2, 5)),
    allocation_ratio=st.sampled_from((1.0, 1.15, 4.0, 0.5)),
)
requests = st.builds(
    SchedulingRequest,
    id=st.just("r"),
    resources=st.dictionaries(st.sampled_from(CLASSES), st.integers(1, 40), min_size=1),
    required_traits=SOME_TRAITS.map(tuple),
    forbidden_traits=SOME_TRAITS.map(tuple),
    availability_zone=ZONES,
    ignore_hosts=REQUESTED_HOSTS.map(tuple),
    force_hosts=REQUESTED_HOSTS.map(tuple),
    decision=st.builds(
        DecisionContext,
        excluded_hosts=st.lists(st.sampled_from(NAMES), max_size=3).map(tuple),
        group_hosts=st.lists(st.sampled_from(NAMES), max_size=3).map(tuple),
    ),
)


@dataclass
class OracleHost:
    """One host for the oracle."""

    name: str
    inventories: dict
    used: dict
    traits: set
    zone: str | None
    alive: bool
    enabled: bool
    opened: bool


@st.composite
def clusters(draw):
    """Return hosts; nodes of one service share its state."""
    states = {host: draw(st.tuples(*[st.sampled_from((True, True, True, False))] * 3)) for host in SERVICES}
    hosts = []
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=len(NAMES))):
        node_inventories = draw(st.dictionaries(st.sampled_from(CLASSES), inventories))
        used = {resource_class: draw(st.integers(0, 45)) for resource_class in node_inventories}
        hosts.append(
            OracleHost(name, node_inventories, used, set(draw(SOME_TRAITS)), draw(ZONES), *states[names.host_of(name)])
        )
    return hosts


def snapshot(hosts):
    services = {names.host_of(host.name): host for host in hosts}
    nodes = {host.name: node(host.inventories, sorted(host.traits), host.zone) for host in hosts}
    return Snapshot(
        epoch=EPOCH,
        position=1,
        providers={name: provider(name, document) for name, document in nodes.items()},
        used={host.name: host.used for host in hosts},
        services={name: {"enabled": host.enabled} for name, host in services.items()},
        alive={name: host.alive for name, host in services.items()},
        opened={name: EPOCH - (not host.opened) for name, host in services.items()},
    )


def is_named(host, names_requested):
    return any(names.matches(host.name, requested) for requested in names_requested)


def satisfies_group(host, request):
    return not is_named(host, request.decision.excluded_hosts) and (
        not request.decision.group_hosts or is_named(host, request.decision.group_hosts)
    )


def misfit_of(host, resource_class, amount):
    """Return why one class does not fit, by rpcapi.resources' rule, or None."""
    inventory, used = host.inventories.get(resource_class), host.used.get(resource_class, 0)
    if fits(inventory, used, amount):
        return None
    free = (inventory.capacity if inventory else 0) - used
    return f"unit rules of {resource_class}" if amount <= free else f"not enough {resource_class}"


def first_rejection(host, request, zones):
    """Return the first reason for rejecting a host, or None; ``zones`` are those of all hosts."""
    zone_reason = "availability zone" if request.availability_zone in zones else "unknown availability zone"
    checks = [
        ("service disabled", host.enabled),
        ("not a forced host", not request.force_hosts or is_named(host, request.force_hosts)),
        ("ignored host", not is_named(host, request.ignore_hosts)),
        ("server group policy", satisfies_group(host, request)),
        (zone_reason, request.availability_zone in (None, host.zone)),
        ("required traits", set(request.required_traits) <= host.traits),
        ("forbidden traits", not set(request.forbidden_traits) & host.traits),
    ]
    for reason, passes in checks:
        if not passes:
            return reason
    misfits = (misfit_of(host, *item) for item in request.resources.items())
    if (reason := next(filter(None, misfits), None)) is not None:
        return reason
    if not host.alive:
        return transient.JUST_DOWN
    return None if host.opened else transient.NOT_AUDITED


@settings(max_examples=300, deadline=None)
@given(clusters(), requests)
def test_pipeline_equals_a_loop_over_hosts(hosts, request):
    zones = {host.zone for host in hosts}
    faults = [first_rejection(host, request, zones) for host in hosts]
    with HostTable.from_snapshot(snapshot(hosts)).reading() as view:
        result = pipeline.run(pipeline.build(BASIC_FILTERS), view, request)
        passing = [view.name(row) for row in range(view.size) if result.passes[row]]
    reasons = {reason: faults.count(reason) for reason in set(faults) - {None}}
    assert passing == [host.name for host, why in zip(hosts, faults, strict=True) if why is None]
    assert (result.hosts, result.count, result.reasons) == (len(hosts), len(passing), reasons)


@settings(max_examples=150, deadline=None)
@given(clusters(), requests, st.sampled_from(BASIC_FILTERS))
def test_each_filter_equals_its_part_of_the_loop(hosts, request, name):
    parts = {
        "ComputeFilter": lambda host: host.alive and host.enabled and host.opened,
        "ForceHostsFilter": lambda host: not request.force_hosts or is_named(host, request.force_hosts),
        "IgnoreHostsFilter": lambda host: not is_named(host, request.ignore_hosts),
        "ServerGroupAffinityFilter": lambda host: (
            not request.decision.group_hosts or is_named(host, request.decision.group_hosts)
        ),
        "ServerGroupAntiAffinityFilter": lambda host: not is_named(host, request.decision.excluded_hosts),
        "AvailabilityZoneFilter": lambda host: request.availability_zone in (None, host.zone),
        "TraitsFilter": lambda host: (
            set(request.required_traits) <= host.traits and not set(request.forbidden_traits) & host.traits
        ),
        "ResourcesFilter": lambda host: misfit(host.inventories, host.used, request.resources) is None,
    }
    with HostTable.from_snapshot(snapshot(hosts)).reading() as view:
        result = pipeline.run(pipeline.build([name]), view, request)
        passing = [view.name(row) for row in range(view.size) if result.passes[row]]
    assert passing == [host.name for host in hosts if parts[name](host)]
