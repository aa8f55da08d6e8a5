# SPDX-License-Identifier: Apache-2.0
"""The drivers of a replay."""

import pytest

from devstack.lab.replay import policies
from rpcapi import errors


@pytest.mark.parametrize(("name", "packs", "sign"), [("filter", False, 1.0), ("pack", True, -1.0)])
def test_packing_negates_the_multipliers(name, packs, sign):
    policy = policies.load(name)
    assert policy.packs is packs
    assert {multiplier for _, multiplier in policy.weighted} == {sign}
    assert set(policy.configured["filter_scheduler"].values()) == {sign}
    assert policy.configured["scheduler"] == {"driver": "filter"}


def test_solver_has_its_objective_and_time_limit():
    spread, pack = policies.load("solver", 50), policies.load("solver-pack")
    assert spread.configured["solver"] == {"objective": "spread", "time_limit": 50}
    assert pack.configured["solver"] == {"objective": "pack"}
    assert pack.configured["scheduler"] == {"driver": "solver"}


def test_unknown_driver_is_rejected():
    with pytest.raises(errors.BadConfiguration, match="best"):
        policies.load("best")
