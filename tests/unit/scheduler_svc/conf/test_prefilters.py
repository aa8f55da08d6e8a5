# SPDX-License-Identifier: Apache-2.0
"""Options of prefilters."""

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import prefilters
from scheduler_svc.core.prefilters.options import PrefilterOptions

FIELDS = {
    "limit_tenants_to_placement_aggregate": PrefilterOptions(limit_tenants=True),
    "placement_aggregate_required_for_tenants": PrefilterOptions(tenants_need_aggregate=True),
    "query_placement_for_image_type_support": PrefilterOptions(image_types=True),
    "enable_isolated_aggregate_filtering": PrefilterOptions(isolated_aggregates=True),
    "image_metadata_prefilter": PrefilterOptions(image_metadata=True),
}


def test_no_optional_prefilter_is_enabled_by_default(conf):
    scheduler_conf.register_opts(conf)
    assert prefilters.load(conf) == PrefilterOptions()


@pytest.mark.parametrize("option", FIELDS)
def test_option_enables_its_prefilter_and_no_other(conf, option):
    scheduler_conf.register_opts(conf)
    conf.set_override(option, True, group="scheduler")
    assert prefilters.load(conf) == FIELDS[option]


def test_nova_enables_its_prefilters_with_its_default_zone(conf):
    scheduler_conf.register_opts(conf)
    conf.set_override("enabled", True, group="nova")
    conf.set_override("default_availability_zone", "zone-1", group="nova")
    assert prefilters.load(conf) == PrefilterOptions(accelerators=True, default_zone="zone-1")


def test_every_option_is_tested():
    assert {option.name for option in prefilters.OPTS} == {*FIELDS, prefilters.ROUTED_NETWORKS}


def test_routed_networks_are_refused_at_start(conf):
    scheduler_conf.register_opts(conf)
    prefilters.check(conf)
    conf.set_override(prefilters.ROUTED_NETWORKS, True, group="scheduler")
    with pytest.raises(errors.BadConfiguration, match="Neutron"):
        prefilters.check(conf)
