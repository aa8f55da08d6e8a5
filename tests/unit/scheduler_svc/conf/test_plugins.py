# SPDX-License-Identifier: Apache-2.0
"""Options of plugins."""

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import plugins
from tests.support.scheduler.outside import make_conf


@pytest.mark.parametrize("text", ["much", "inf", "nan", ""])
def test_weight_that_is_not_a_finite_number_is_refused(text):
    with pytest.raises(errors.BadConfiguration, match="plugin_weight_multipliers: X:"):
        scheduler_conf.plugins.check(make_conf(plugin_weight_multipliers={"X": text}))


def test_multiplier_of_a_plugin_is_1_by_default():
    configured = make_conf(plugin_weight_multipliers={"X": "-2.5"})
    plugins.check(configured)
    assert [plugins.multiplier(configured, name) for name in ("X", "Y")] == [-2.5, 1.0]


def test_failing_plugin_fails_the_request_by_default(conf):
    scheduler_conf.register_opts(conf)
    assert conf.filter_scheduler.on_plugin_error == plugins.FATAL
    with pytest.raises(ValueError):
        conf.set_override("on_plugin_error", "ignore", group="filter_scheduler")
