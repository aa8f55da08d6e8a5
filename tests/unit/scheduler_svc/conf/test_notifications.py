# SPDX-License-Identifier: Apache-2.0
"""Options of group [host_state_notifications]."""

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import notifications


@pytest.fixture
def ready(conf):
    scheduler_conf.register_opts(conf)
    return conf


def test_unknown_kind_is_a_bad_configuration(ready):
    ready.set_override("kinds", ["provider", "weather"], group="host_state_notifications")
    with pytest.raises(errors.BadConfiguration, match="unknown kind weather"):
        notifications.check(ready)


def test_sums_of_claims_are_not_published_by_default(ready):
    notifications.check(ready)
    assert not ready.host_state_notifications.enabled
    assert set(notifications.KINDS) - set(ready.host_state_notifications.kinds) == {"used"}
    ready.set_override("kinds", notifications.KINDS, group="host_state_notifications")
    notifications.check(ready)


@pytest.mark.parametrize("seconds", [0.5, 3601.0])
def test_lease_outside_its_limits_is_refused(ready, seconds):
    with pytest.raises(ValueError):
        ready.set_override("lease", seconds, group="host_state_notifications")
