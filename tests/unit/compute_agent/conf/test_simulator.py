# SPDX-License-Identifier: Apache-2.0
"""Options of the simulated hypervisor."""

import pytest
from oslo_config import cfg

from compute_agent.conf import simulator

SHARES = [
    *("spawn_failure_rate", "refusal_rate", "churn", "external_use_rate", "external_use_max"),
    *("silence_rate", "restart_rate", "migration_check_failure_rate", "copy_failure_rate", "copy_death_rate"),
    "post_migration_failure_rate",
]


@pytest.fixture
def options(conf: cfg.ConfigOpts) -> cfg.ConfigOpts:
    conf.register_opts(simulator.OPTS, group=simulator.GROUP)
    return conf


def test_no_fault_is_injected_by_default(options: cfg.ConfigOpts) -> None:
    faults = set(SHARES) - {"external_use_rate", "external_use_max"}
    assert {options.simulator[name] for name in faults} == {0.0}


def test_all_options_can_be_changed_while_the_agent_runs() -> None:
    assert [option.name for option in simulator.OPTS if not option.mutable] == []


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("value", [-0.01, 1.01])
def test_share_outside_zero_to_one_is_rejected(options: cfg.ConfigOpts, name: str, value: float) -> None:
    with pytest.raises(ValueError, match="Should be"):
        options.set_override(name, value, group="simulator")


@pytest.mark.parametrize(("name", "value"), [("boot_delay", -1.0), ("boot_delay_spread", 3.1), ("silence_time", -1.0)])
def test_impossible_time_is_rejected(options: cfg.ConfigOpts, name: str, value: float) -> None:
    with pytest.raises(ValueError, match="Should be"):
        options.set_override(name, value, group="simulator")
