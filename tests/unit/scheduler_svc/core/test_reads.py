# SPDX-License-Identifier: Apache-2.0
"""The keys of host state that decisions read."""

from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition import drivers
from scheduler_svc.core import built_in, reads
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.options import FilterOptions
from scheduler_svc.core.weighers import scoring
from scheduler_svc.core.weighers.options import MetricWeights, WeigherOptions

TRAITS = {"compute": frozenset({"traits"})}
USED_AND_RACK = {"compute": frozenset({"used"}), "rack": frozenset({"watts"})}


def test_union_has_the_keys_of_all():
    assert reads.union([TRAITS, USED_AND_RACK, {}]) == {"compute": {"traits", "used"}, "rack": {"watts"}}
    assert reads.union([]) == {}
    assert {"compute": {"traits"}} == TRAITS, "the arguments are unchanged"


def test_reads_cover_their_parts_and_nothing_more():
    both = reads.union([TRAITS, USED_AND_RACK])
    assert reads.covers(both, TRAITS) and reads.covers(both, USED_AND_RACK) and reads.covers(both, both)
    assert not reads.covers(TRAITS, both)
    assert not reads.covers(TRAITS, {"rack": frozenset({"watts"})})
    assert reads.covers({}, {}) and reads.covers({}, {"rack": frozenset()})


def test_agents_always_send_inventories_and_never_the_sums_of_claims():
    assert reads.required_keys({}) == ["inventories"]
    assert reads.required_keys(reads.union([TRAITS, USED_AND_RACK])) == ["inventories", "traits"]


def test_documents_of_composed_namespaces_are_not_kept_whole():
    both = reads.union([TRAITS, USED_AND_RACK, {"service": frozenset({"alive"}), "aggregate": frozenset({"hosts"})}])
    assert reads.whole_document_namespaces(both) == ["aggregate", "rack"]


def test_required_keys_follow_from_filters_and_weighers(conf):
    filters, weighers = ["AvailabilityZoneFilter", "TraitsFilter"], ["RAMWeigher"]
    scheduler_conf.register_opts(conf)
    conf.set_override("weight_setting", ["heat=-1"], group="metrics")
    conf.set_override("enabled_filters", filters, group="filter_scheduler")
    conf.set_override("enabled_weighers", weighers, group="filter_scheduler")
    assert reads.required_keys(drivers.filter_driver(conf).reads) == ["availability_zone", "inventories", "traits"]
    conf.set_override("enabled_weighers", ["MetricsWeigher"], group="filter_scheduler")
    conf.set_override("enabled_filters", ["ComputeFilter"], group="filter_scheduler")
    assert reads.required_keys(drivers.filter_driver(conf).reads) == ["inventories", "metrics.heat"]


def test_every_filter_and_weigher_declares_its_reads():
    weights = MetricWeights({"heat": 1.0})
    reads_by_name = {
        component.name: component.reads
        for component in pipeline.build(built_in.FILTER_NAMES, FilterOptions(metrics=("heat",)))
    }
    reads_by_name |= {
        component.name: component.reads
        for component, _ in scoring.build(dict.fromkeys(built_in.WEIGHER_NAMES, 1.0), WeigherOptions(weights))
    }
    assert reads_by_name["TraitsFilter"] == {"compute": {"traits"}}
    assert reads_by_name["MetricsFilter"] == reads_by_name["MetricsWeigher"] == {"compute": {"metrics.heat"}}
    assert {name for name, keys in reads_by_name.items() if not keys} == {
        "ForceHostsFilter",
        "IgnoreHostsFilter",
        "AllHostsFilter",
        "DifferentHostFilter",
        "IsolatedHostsFilter",
        "SameHostFilter",
        "ServerGroupAffinityFilter",
        "ServerGroupAntiAffinityFilter",
        "ServerGroupSoftAffinityWeigher",
        "ServerGroupSoftAntiAffinityWeigher",
    }
