# SPDX-License-Identifier: Apache-2.0
"""docs/scheduling.md describes all filters, weighers and options, and docs/requests.md all translated keys."""

import re
from pathlib import Path

import pytest

from rpcapi.resources import query
from rpcapi.resources.claims import GroupPolicy
from rpcapi.validation import hints
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import filters, metrics, plugins, prefilters, solver, weighers
from scheduler_svc.core import built_in
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.filters import near_address
from scheduler_svc.core.prefilters import pipeline as prefilter_pipeline

ROOT = Path(__file__).parents[4]
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
    option.name for module in (filters, weighers, plugins, prefilters, metrics, solver) for option in module.OPTS
]
NAMES = {
    "filters": (*built_in.FILTER_NAMES, *NOVAS_FILTERS.split()),
    "weighers": (*built_in.WEIGHER_NAMES, *NOVAS_WEIGHERS.split()),
    "prefilters": (*prefilter_pipeline.NAMES, *NOVAS_PREFILTERS.split()),
    "hints": (*hints.INSTANCE_HINTS, near_address.ADDRESS, near_address.LENGTH, query.HINT),
    "group policies": list(map(str, GroupPolicy)),
    "options": OPTIONS,
}


@pytest.mark.parametrize("kind", NAMES)
def test_every_name_is_on_the_page(kind):
    missing = [name for name in NAMES[kind] if not re.search(rf"`[^`]*\b{re.escape(name)}\b[^`]*`", SCHEDULING)]
    assert missing == []


def test_filters_and_weighers_on_the_page_exist():
    names = set(re.findall(r"^\| `(\w+(?:Filter|Weigher|Isolation))` \|", SCHEDULING, re.MULTILINE))
    assert names == {*built_in.FILTER_NAMES, *built_in.WEIGHER_NAMES}


def test_page_marks_the_defaults():
    rows = re.findall(r"^\| `(\w+(?:Filter|Isolation))` \|.*?\| (yes\*?|no|always) \|", SCHEDULING, re.MULTILINE)
    assert {name for name, default in rows if default != "no"} == set(built_in.DEFAULT_FILTERS)
    assert {name for name, default in rows if default == "always"} == pipeline.ALWAYS_ENABLED
    rows = re.findall(r"^\| `(\w+Weigher)` \| (yes|no) \|", SCHEDULING, re.MULTILINE)
    assert {name for name, default in rows if default == "yes"} == set(built_in.DEFAULT_WEIGHERS)


def test_page_has_the_default_multipliers(conf):
    scheduler_conf.register_opts(conf)
    multipliers = dict(re.findall(r"`(\w+_weight_multiplier)` (-?[0-9.]+)", SCHEDULING))
    defaults = weighers.multipliers(conf, packed=False)
    assert {name: float(number) for name, number in multipliers.items()} == {
        option: defaults[name] for name, option in weighers.OPTIONS.items()
    }
    assert f"`balance_weight_multiplier` 0.0, with `placement = pack` {weighers.PACKED_BALANCE}" in SCHEDULING


def test_translated_keys_are_on_the_requests_page():
    call = re.compile(
        r"(?:flavor_image\.(?:flavor_value|image_value|value|flag)|_read_per_cell)"
        r"\((?:flavor_image, )?\"(\w+)\""
    )
    keys = {key for path in (ROOT / "rpcapi" / "spec_builder").glob("*.py") for key in call.findall(path.read_text())}
    assert len(keys) > 15
    missing = [key for key in keys if not re.search(rf"\b\w+[:_]{key}\b", REQUESTS)]
    assert missing == []
