# SPDX-License-Identifier: Apache-2.0
"""Caps on RPC versions."""

import pytest

from rpcapi.conf import register_groups, upgrade_levels


@pytest.mark.parametrize("service", ["scheduler", "claims", "conductor", "compute"])
def test_each_service_may_have_a_cap_and_has_none_by_default(conf, service):
    register_groups(conf, upgrade_levels)
    assert conf.upgrade_levels[service] is None
    conf.set_override(service, "1.12", group="upgrade_levels")
    assert conf.upgrade_levels[service] == "1.12"
    conf.set_override(service, "auto", group="upgrade_levels")
    assert conf.upgrade_levels[service] == upgrade_levels.AUTO


@pytest.mark.parametrize("version", ["automatic", "1", "1.x", "v1.0", "1.0.0", ""])
def test_malformed_version_is_refused(conf, version):
    register_groups(conf, upgrade_levels)
    with pytest.raises(ValueError):
        conf.set_override("scheduler", version, group="upgrade_levels")
