# SPDX-License-Identifier: Apache-2.0
"""docs/scheduling.md names everything that decides, and docs/requests.md every key that is translated."""

import re
from pathlib import Path

import pytest

from rpcapi.model.checks import hints
from rpcapi.model.claims import GroupPolicy
from scheduler_svc.conf import filter_scheduler, filters, metrics, plugins, prefilters, solver, weighers
from scheduler_svc.filters import pipeline
from scheduler_svc.prefilters import pipeline as prefilter_pipeline
from scheduler_svc.weighers import scoring

ROOT = Path(__file__).parents[3]
SCHEDULING = (ROOT / "docs" / "scheduling.md").read_text()
REQUESTS = (ROOT / "docs" / "requests.md").read_text()

NOVAS_FILTERS = """
AggregateImagePropertiesIsolation AggregateInstanceExtraSpecsFilter AggregateIoOpsFilter AggregateMultiTenancyIsolation
AggregateNumInstancesFilter AggregateTypeAffinityFilter AllHostsFilter ComputeCapabilitiesFilter ComputeFilter
DifferentHostFilter ImagePropertiesFilter IoOpsFilter IsolatedHostsFilter JsonFilter MetricsFilter NUMATopologyFilter
NumInstancesFilter PciPassthroughFilter SameHostFilter ServerGroupAffinityFilter ServerGroupAntiAffinityFilter
SimpleCIDRAffinityFilter
"""
NOVAS_WEIGHERS = """
BuildFailureWeigher CPUWeigher CrossCellWeigher DiskWeigher HypervisorVersionWeigher ImagePropertiesWeigher
IoOpsWeigher MetricsWeigher NumInstancesWeigher PCIWeigher RAMWeigher ServerGroupSoftAffinityWeigher
ServerGroupSoftAntiAffinityWeigher
"""
NOVAS_PREFILTERS = """
require_tenant_aggregate map_az_to_placement_aggregate require_image_type_support compute_status_filter
isolate_aggregates transform_image_metadata accelerators_filter packed_virtqueue_filter routed_networks_filter
remote_managed_ports_filter ephemeral_encryption_filter virtio_sound_filter tpm_secret_security_filter
owner_nova_filter
"""
OPTIONS = [
    option.name
    for module in (filter_scheduler, filters, weighers, plugins, prefilters, metrics, solver)
    for option in module.OPTS
]
NAMES = {
    "filters": (*pipeline.NAMES, *NOVAS_FILTERS.split()),
    "weighers": (*scoring.NAMES, *NOVAS_WEIGHERS.split()),
    "prefilters": (*prefilter_pipeline.NAMES, *NOVAS_PREFILTERS.split()),
    "hints": hints.CHECKS,
    "group policies": list(map(str, GroupPolicy)),
    "options": OPTIONS,
}


@pytest.mark.parametrize("kind", NAMES)
def test_each_is_on_the_page(kind):
    missing = [name for name in NAMES[kind] if not re.search(rf"`[^`]*\b{re.escape(name)}\b[^`]*`", SCHEDULING)]
    assert missing == []


def test_nothing_on_the_page_is_only_there():
    named = set(re.findall(r"^\| `(\w+(?:Filter|Weigher|Isolation))` \|", SCHEDULING, re.MULTILINE))
    assert named == {*pipeline.NAMES, *scoring.NAMES}


def test_the_page_says_which_are_on_by_default():
    rows = re.findall(r"^\| `(\w+(?:Filter|Isolation))` \|.*?\| (yes\*?|no|always) \|", SCHEDULING, re.MULTILINE)
    assert {name for name, told in rows if told != "no"} == set(filters.DEFAULT_FILTERS)
    assert {name for name, told in rows if told == "always"} == pipeline.ALWAYS_ENABLED
    rows = re.findall(r"^\| `(\w+Weigher)` \| (yes|no) \|", SCHEDULING, re.MULTILINE)
    assert {name for name, told in rows if told == "yes"} == set(weighers.DEFAULT_WEIGHERS)


def test_the_page_says_what_weighs_how_much_by_default():
    told = dict(re.findall(r"`(\w+_weight_multiplier)` (-?[0-9.]+)", SCHEDULING))
    defaults = {option.name: option.default for option in weighers.OPTS if option.name in weighers.OPTIONS.values()}
    assert {name: float(number) for name, number in told.items()} == defaults


def test_each_key_that_is_translated_is_on_the_page_of_requests():
    asked = re.compile(r"(?:asked\.(?:of_flavor|of_image|one|flag|flavors_own)|_each)\((?:asked, )?\"(\w+)\"")
    keys = {key for path in (ROOT / "rpcapi" / "edge").glob("*.py") for key in asked.findall(path.read_text())}
    assert len(keys) > 15
    missing = [key for key in keys if not re.search(rf"\b\w+[:_]{key}\b", REQUESTS)]
    assert missing == []
