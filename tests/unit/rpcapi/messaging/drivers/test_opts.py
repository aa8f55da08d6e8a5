# SPDX-License-Identifier: Apache-2.0
"""Options of the embedded bus."""

import pytest
from oslo_config import cfg

from rpcapi.messaging.drivers import opts


@pytest.fixture
def options(conf: cfg.ConfigOpts) -> cfg.ConfigOpts:
    for _ in range(2):  # one registration for each transport
        opts.register_opts(conf)
    return conf


def test_options_are_listed_for_the_sample_file(options: cfg.ConfigOpts) -> None:
    ((group, listed),) = opts.list_opts()
    assert {option.dest for option in listed} == set(options[group.name])
    assert [option.name for option in listed if not option.help] == []


def test_defaults_are_consistent(options: cfg.ConfigOpts) -> None:
    bus = options.gantt_bus
    assert bus.reconnect_backoff < bus.reconnect_backoff_max
    assert bus.socket_timeout < bus.visibility_timeout, "a slow acknowledgement would be redelivered"
    assert bus.send_timeout < bus.reply_ttl < bus.request_ttl


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("visibility_timeout", 0), ("prefetch", 0), ("request_ttl", 0), ("reply_ttl", 2)),
        *(("max_connections", 1), ("socket_timeout", 0.0), ("send_timeout", -1.0)),
        *(("reconnect_backoff", 0.0), ("reconnect_backoff_max", 0.0)),
    ],
)
def test_value_below_its_minimum_is_rejected(options: cfg.ConfigOpts, name: str, value: float) -> None:
    with pytest.raises(ValueError, match="Should be"):
        options.set_override(name, value, group="gantt_bus")
