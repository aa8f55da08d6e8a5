# SPDX-License-Identifier: Apache-2.0
"""The drivers of a replay."""

import pytest
from oslo_config import cfg

from devstack import confs
from devstack.lab.replay import policies
from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import enabled
from scheduler_svc.core import built_in


@pytest.mark.parametrize(("name", "placement", "sign"), [("filter", "spread", 1.0), ("pack", "pack", -1.0)])
def test_packing_negates_the_multiplier_and_weighs_the_balance(name, placement, sign):
    policy = policies.load(name)
    multipliers = {weigher.name: multiplier for weigher, multiplier in policy.weighted}
    assert multipliers == {
        "FreeShareWeigher": sign,
        "BalanceWeigher": 4.0 if placement == "pack" else 0.0,
        "SpecialHardwareWeigher": 1.0,
    }
    assert policy.configured["filter_scheduler"] == {"placement": placement}
    assert policy.configured["scheduler"] == {"driver": "filter"}


def test_policy_of_nova_weighs_free_amounts_only():
    policy = policies.load("nova")
    assert [weigher.name for weigher, _ in policy.weighted] == ["RAMWeigher", "CPUWeigher", "DiskWeigher"]
    assert policy.configured["scheduler"] == {"driver": "filter"}


def test_policy_of_balance_adds_it_to_novas_weighers():
    policy = policies.load("balance")
    multipliers = {weigher.name: multiplier for weigher, multiplier in policy.weighted}
    assert multipliers == {"RAMWeigher": 1.0, "CPUWeigher": 1.0, "DiskWeigher": 1.0, "BalanceWeigher": 4.0}
    assert policy.driver.weigher_set.pairs[3][1] == 4.0


@pytest.mark.parametrize("name", ["filter", "nova", "balance", "pack", "solver", "solver-pack", "chance"])
def test_scheduler_of_a_cluster_reads_the_same_configuration_from_a_file(name, tmp_path):
    policy = policies.load(name)
    file = tmp_path / "scheduler.conf"
    file.write_text(confs.text(policy.configured))
    conf = cfg.ConfigOpts()
    scheduler_conf.register_opts(conf)
    conf(["--config-file", str(file)], default_config_dirs=[])
    expected = set(built_in.DEFAULT_WEIGHERS)
    if name in policies.JUDGES:
        expected = expected - set(policies.OWN) | set(policies.JUDGES[name])
    assert set(enabled.weighers(conf)) == expected
    assert conf.filter_scheduler.placement == ("pack" if policy.oracle == "pack" else "spread")


@pytest.mark.parametrize(
    ("name", "oracle"),
    [("chance", "filter"), ("solver", "filter"), ("solver-pack", "pack"), ("nova", "nova"), ("balance", "balance")],
)
def test_oracle_places_as_what_the_policy_approximates(name, oracle):
    assert policies.load(name).oracle == oracle


def test_solver_has_its_objective_and_limit_of_work():
    spread, pack = policies.load("solver", 50), policies.load("solver-pack")
    assert spread.configured["solver"] == {"objective": "spread", "work_limit": 50}
    assert pack.configured["solver"] == {"objective": "pack"}
    assert pack.configured["scheduler"] == {"driver": "solver"}


def test_unknown_driver_is_rejected():
    with pytest.raises(errors.BadConfiguration, match="best"):
        policies.load("best")
