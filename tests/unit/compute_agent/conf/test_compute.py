# SPDX-License-Identifier: Apache-2.0
"""Options of the agent."""

import pytest
from oslo_config import cfg

from compute_agent.conf import compute


@pytest.fixture
def options(conf: cfg.ConfigOpts) -> cfg.ConfigOpts:
    conf.register_opts(compute.OPTS, group=compute.GROUP)
    return conf


def test_process_has_one_host_with_one_node_by_default(options: cfg.ConfigOpts) -> None:
    assert (options.compute.hosts, options.compute.nodes_per_host) == ([], 1)


def test_only_the_timing_of_reports_can_change_while_the_agent_runs() -> None:
    assert {option.name for option in compute.OPTS if option.mutable} == {"report_interval", "report_jitter"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nodes_per_host", 0),
        ("nodes_per_host", 10_001),
        ("report_interval", 0.0),
        ("report_jitter", 1.0),  # a pause of 0 would be possible
        ("call_timeout", 0.0),
        ("retry_interval_max", 0.0),
        ("threads", 0),
        ("ended_retention", -1.0),
    ],
)
def test_value_out_of_range_is_rejected(options: cfg.ConfigOpts, name: str, value: float) -> None:
    with pytest.raises(ValueError, match="Should be"):
        options.set_override(name, value, group="compute")
