# SPDX-License-Identifier: Apache-2.0
"""Options of driver 'solver'."""

import pytest

from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import solver


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("objective", "both"),
        ("work_limit", 0),
        ("time_limit", 0),
        ("hosts", 0),
        ("max_pairs", 0),
        ("window", -1),
        ("max_batch", 0),
    ],
)
def test_value_outside_the_limits_is_refused(conf, option, value):
    scheduler_conf.register_opts(conf)
    with pytest.raises(ValueError):
        conf.set_override(option, value, group="solver")


def test_requests_are_spread_and_not_delayed_by_default(conf):
    scheduler_conf.register_opts(conf)
    assert (conf.solver.objective, conf.solver.window) == (solver.SPREAD, 0)
