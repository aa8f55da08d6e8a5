# SPDX-License-Identifier: Apache-2.0
"""The drivers of a replay."""

import pytest

from devstack.lab.replay import policies
from rpcapi import errors
from scheduler_svc.conf import weighers


@pytest.mark.parametrize(("name", "sign"), [("filter", 1.0), ("pack", -1.0)])
def test_packing_negates_the_multipliers(name, sign):
    policy = policies.load(name)
    assert {weigher.name: multiplier for weigher, multiplier in policy.weighted} == dict.fromkeys(
        weighers.AMOUNTS, sign
    )
    assert policy.configured["scheduler"] == {"driver": "filter"}


def test_balance_is_weighed_beside_free_amounts():
    policy = policies.load("balance")
    assert [weigher.name for weigher, _ in policy.weighted] == [*weighers.AMOUNTS, "BalanceWeigher"]
    assert policy.configured["scheduler"] == {"driver": "filter"}


@pytest.mark.parametrize(
    ("name", "oracle"), [("chance", "filter"), ("solver", "filter"), ("solver-pack", "pack"), ("balance", "balance")]
)
def test_oracle_places_as_what_the_policy_approximates(name, oracle):
    assert policies.load(name).oracle == oracle


def test_solver_has_its_objective_and_time_limit():
    spread, pack = policies.load("solver", 50), policies.load("solver-pack")
    assert spread.configured["solver"] == {"objective": "spread", "time_limit": 50}
    assert pack.configured["solver"] == {"objective": "pack"}
    assert pack.configured["scheduler"] == {"driver": "solver"}


def test_unknown_driver_is_rejected():
    with pytest.raises(errors.BadConfiguration, match="best"):
        policies.load("best")
