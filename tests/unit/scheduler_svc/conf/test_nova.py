# SPDX-License-Identifier: Apache-2.0
"""Options of [nova]."""

import pytest
from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import register_groups
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import enabled, filters, from_nova, nova, weighers
from scheduler_svc.core import built_in


@pytest.mark.parametrize(("patience", "fits"), [(10.0, True), (9.0, False)])
def test_patience_covers_two_intervals(conf, patience, fits):
    register_groups(conf, nova)
    conf.set_override("bridge_max_age", patience, group="nova")
    if fits:
        nova.check(conf)
    else:
        with pytest.raises(errors.BadConfiguration, match="bridge_max_age = 9 must be at least twice"):
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


@pytest.fixture
def loaded(tmp_path):
    def load(text):
        path = tmp_path / "gantt.conf"
        path.write_text(text)
        conf = cfg.ConfigOpts()
        scheduler_conf.register_opts(conf)
        conf(["--config-file", str(path)])
        scheduler_conf.check(conf)
        return conf

    return load


def test_defaults_are_novas_where_the_hosts_are(loaded):
    translation = from_nova.translate({}).sections["filter_scheduler"]
    conf = loaded("[nova]\nenabled = true\n")
    assert set(enabled.filters(conf)) == set(translation["enabled_filters"].split(","))
    # Without weighed metrics the translation leaves the weigher out: it would have no effect.
    assert set(enabled.weighers(conf)) - {weighers.METRICS} == set(translation["enabled_weighers"].split(","))
    assert not {"IoOpsWeigher", "HypervisorVersionWeigher"} - set(enabled.weighers(conf))


def test_defaults_are_gantts_own_without_nova(loaded):
    conf = loaded("")
    assert enabled.filters(conf) == list(built_in.DEFAULT_FILTERS)
    assert enabled.weighers(conf) == list(built_in.DEFAULT_WEIGHERS)


def test_named_filters_and_weighers_replace_novas_defaults(loaded):
    conf = loaded(
        "[nova]\nenabled = true\n[filter_scheduler]\nenabled_filters = ComputeFilter\nenabled_weighers = RAMWeigher\n"
    )
    assert (enabled.filters(conf), enabled.weighers(conf)) == (["ComputeFilter"], ["RAMWeigher"])


def test_weighed_metrics_are_required_with_novas_defaults_too(loaded):
    with pytest.raises(errors.BadConfiguration, match="MetricsFilter"):
        loaded("[nova]\nenabled = true\n[metrics]\nweight_setting = cpu.percent=-1\n")


def test_weigher_that_nobody_counts_for_is_refused_for_novas_hosts(loaded):
    multiplier = "[filter_scheduler]\nimage_props_weight_multiplier = 1\n"
    loaded(multiplier)
    with pytest.raises(errors.BadConfiguration, match="ImagePropertiesWeigher cannot weigh Nova's hosts"):
        loaded(f"[nova]\nenabled = true\n{multiplier}")
    loaded(f"[nova]\nenabled = true\n{multiplier}enabled_weighers = RAMWeigher\n")
