# SPDX-License-Identifier: Apache-2.0
"""Options of every daemon."""

import pytest
from oslo_config import cfg

from rpcapi.daemon import options


@pytest.fixture
def registered(conf: cfg.ConfigOpts) -> cfg.ConfigOpts:
    options.register_opts(conf)
    return conf


def test_all_options_are_listed_for_the_sample_file(registered: cfg.ConfigOpts) -> None:
    listed = dict(options.list_opts())
    assert {option.dest for option in listed["metrics"]} == set(registered.metrics)
    assert {option.dest for option in listed["DEFAULT"]} <= set(registered)


def test_native_threads_are_the_default(registered: cfg.ConfigOpts) -> None:
    assert registered.executor == "threading"


def test_metrics_are_disabled_by_default(registered: cfg.ConfigOpts) -> None:
    assert registered.metrics.listen == ""


@pytest.mark.parametrize(
    ("name", "value"), [("executor", "asyncio"), ("graceful_shutdown_timeout", 0), ("worker_hang_timeout", 1)]
)
def test_invalid_value_is_rejected(registered: cfg.ConfigOpts, name: str, value: object) -> None:
    with pytest.raises(ValueError, match=r"Should be|Valid values"):
        registered.set_override(name, value)
