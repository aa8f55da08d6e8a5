# SPDX-License-Identifier: Apache-2.0
"""Two configurations of one process share no value: copies of an oslo.config OptGroup would."""

import pytest
from oslo_config import cfg

from rpcapi.daemon import options
from rpcapi.drivers import opts


@pytest.mark.parametrize(
    ("register", "group", "name", "value"),
    [
        (opts.register_opts, "gantt_bus", "max_message_bytes", 10_000),
        (options.register_opts, "metrics", "listen", "x:1"),
    ],
)
def test_an_override_stays_where_it_was_made(register, group, name, value):
    one, other = cfg.ConfigOpts(), cfg.ConfigOpts()
    for conf in (one, other):
        register(conf)
    before = other[group][name]
    one.set_override(name, value, group=group)
    assert (one[group][name], other[group][name]) == (value, before)
