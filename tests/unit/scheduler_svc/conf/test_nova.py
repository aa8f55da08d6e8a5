# SPDX-License-Identifier: Apache-2.0
"""Options of [nova]."""

import pytest
from oslo_config import cfg

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import filters, nova


@pytest.mark.parametrize("enabled", [False, True])
def test_the_filter_of_novas_services_follows_enabled(conf, enabled):
    scheduler_conf.register_opts(conf)
    conf.set_override("enabled", enabled, group="nova")
    assert filters.load(conf).nova_enabled is enabled


@pytest.mark.parametrize(("patience", "fits"), [(10.0, True), (9.0, False)])
def test_patience_covers_two_intervals(conf, patience, fits):
    nova.register_opts(conf)
    conf.set_override("bridge_patience", patience, group="nova")
    if fits:
        nova.check(conf)
    else:
        with pytest.raises(errors.BadConfiguration, match="bridge_patience = 9 must be at least twice"):
            nova.check(conf)


@pytest.mark.parametrize("name", nova.UNDECIDED_FILTERS)
def test_filters_that_cannot_decide_for_novas_hosts_are_refused_where_they_are_named(tmp_path, name):
    def check(text):
        path = tmp_path / "gantt.conf"
        path.write_text(text)
        conf = cfg.ConfigOpts()
        scheduler_conf.register_opts(conf)
        conf(["--config-file", str(path)])
        filters.check(conf)

    named = f"[filter_scheduler]\nenabled_filters = ComputeFilter,{name}\n"
    check("[nova]\nenabled = true\n")
    check(named)
    with pytest.raises(errors.BadConfiguration, match=name):
        check(f"[nova]\nenabled = true\n{named}")
