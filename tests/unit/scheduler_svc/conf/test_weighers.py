# SPDX-License-Identifier: Apache-2.0
"""Options of weighers."""

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import weighers
from scheduler_svc.core import built_in


@pytest.fixture
def conf(conf):
    scheduler_conf.register_opts(conf)
    return conf


@pytest.mark.parametrize("pair", ["os_distro", "=1", "os_distro=many", "os_distro=inf"])
def test_invalid_image_property_weight_raises(conf, pair):
    conf.set_override("image_props_weight_setting", ["os_type=1", pair], group="filter_scheduler")
    with pytest.raises(errors.BadConfiguration, match="not of the form property=weight"):
        weighers.check(conf)


def test_multiplier_that_is_not_finite_raises(conf):
    conf.set_override("io_ops_weight_multiplier", float("nan"), group="filter_scheduler")
    with pytest.raises(errors.BadConfiguration, match="IoOpsWeigher is nan"):
        weighers.check(conf)


def test_packing_inverts_the_multipliers_of_free_capacity_and_weighs_the_balance(conf):
    conf.set_override("ram_weight_multiplier", -3.0, group="filter_scheduler")
    spread, pack = (weighers.multipliers(conf, packed=packed) for packed in (False, True))
    assert (spread["RAMWeigher"], pack["RAMWeigher"]) == (-3.0, 3.0)
    assert (spread["BalanceWeigher"], pack["BalanceWeigher"]) == (0.0, 4.0)
    changed = {name for name in spread if spread[name] != pack[name]}
    assert changed == {"FreeShareWeigher", "RAMWeigher", "CPUWeigher", "DiskWeigher", "BalanceWeigher"}


@pytest.mark.parametrize("packed", [False, True])
def test_configured_multiplier_of_the_balance_applies_to_either_placement(conf, packed):
    conf.set_override("balance_weight_multiplier", 2.0, group="filter_scheduler")
    assert weighers.multipliers(conf, packed=packed)["BalanceWeigher"] == 2.0


def test_placement_says_whether_servers_are_packed(conf):
    assert not weighers.packs(conf)
    conf.set_override("placement", "pack", group="filter_scheduler")
    assert weighers.packs(conf)


def test_every_built_in_weigher_has_a_multiplier(conf):
    conf.set_override("weight_multiplier", 7.0, group="metrics")
    multipliers = weighers.multipliers(conf, packed=False)
    assert set(multipliers) == set(built_in.WEIGHER_NAMES)
    assert multipliers["MetricsWeigher"] == 7.0


def test_image_properties_have_weights(conf):
    setting = ["os_distro = 2", "os_type=-0.5"]
    conf.set_override("image_props_weight_setting", setting, group="filter_scheduler")
    assert weighers.image_properties(conf) == {"os_distro": 2.0, "os_type": -0.5}


def test_repeated_image_property_is_refused(conf):
    conf.set_override("image_props_weight_setting", ["os_type=1", "os_type=2"], group="filter_scheduler")
    with pytest.raises(errors.BadConfiguration, match="or repeats a property"):
        weighers.check(conf)


@pytest.mark.parametrize("size", [0, 1001])
def test_host_subset_outside_its_limits_is_refused(conf, size):
    with pytest.raises(ValueError):
        conf.set_override("host_subset_size", size, group="filter_scheduler")
