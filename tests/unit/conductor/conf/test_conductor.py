# SPDX-License-Identifier: Apache-2.0
"""Options of the conductor."""

import socket

import pytest
from oslo_config import cfg

from conductor import conf as conductor_conf


@pytest.fixture
def options(conf: cfg.ConfigOpts) -> cfg.ConfigOpts:
    conductor_conf.register_opts(conf)
    return conf


def test_conductor_is_named_after_its_machine(options: cfg.ConfigOpts) -> None:
    assert options.conductor.host == socket.gethostname()


def test_lost_build_is_sent_again_before_it_times_out(options: cfg.ConfigOpts) -> None:
    assert options.conductor.recast_interval < options.conductor.build_timeout


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_attempts", 0), ("max_attempts", 17), ("build_timeout", 0.0), ("select_timeout", 0.0), ("lease", 0.5)],
)
def test_value_out_of_range_is_rejected(options: cfg.ConfigOpts, name: str, value: float) -> None:
    with pytest.raises(ValueError, match="Should be"):
        options.set_override(name, value, group="conductor")
