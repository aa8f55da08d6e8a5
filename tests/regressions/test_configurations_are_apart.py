# SPDX-License-Identifier: Apache-2.0
"""Regression: two configurations in one process shared values, through copies of an oslo.config OptGroup."""

import pytest
from oslo_config import cfg

from rpcapi.daemon import options
from rpcapi.messaging.drivers import opts


@pytest.mark.parametrize(
    ("register", "group", "name", "value"),
    [
        (opts.register_opts, "gantt_bus", "prefetch", 3),
        (options.register_opts, "metrics", "listen", "x:1"),
    ],
)
def test_override_affects_its_own_configuration_only(register, group, name, value):
    first, second = cfg.ConfigOpts(), cfg.ConfigOpts()
    for conf in (first, second):
        register(conf)
    before = second[group][name]
    first.set_override(name, value, group=group)
    assert (first[group][name], second[group][name]) == (value, before)
