# SPDX-License-Identifier: Apache-2.0
"""Names of enabled filters and weighers."""

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import enabled, weighers
from scheduler_svc.core import built_in


def configure(conf, driver="filter", **options):
    scheduler_conf.register_opts(conf)
    conf.set_override("driver", driver, group="scheduler")
    for name, value in options.items():
        conf.set_override(name, value, group="filter_scheduler")
    return conf


def test_all_built_in_names_are_allowed(conf):
    names = {"enabled_filters": built_in.FILTER_NAMES, "enabled_weighers": built_in.WEIGHER_NAMES}
    configure(conf, **names)
    enabled.check_filters(conf)
    enabled.check_weighers(conf)


@pytest.mark.parametrize(
    ("option", "check", "why"),
    [
        (
            "enabled_filters",
            enabled.check_filters,
            "enabled_filters: unknown filter Bogus, Nonsense; allowed: .*ComputeFilter, ",
        ),
        ("enabled_weighers", enabled.check_weighers, "enabled_weighers: unknown weigher Bogus, Nonsense; allowed: "),
    ],
)
def test_unknown_names_are_refused_with_the_allowed_ones(conf, option, check, why):
    with pytest.raises(errors.BadConfiguration, match=why):
        check(configure(conf, **{option: ["Nonsense", "Bogus"]}))


@pytest.mark.parametrize(("driver", "is_checked"), [("filter", True), ("solver", True), ("chance", False)])
def test_weighers_are_checked_for_drivers_that_use_them(conf, driver, is_checked):
    configure(conf, driver, enabled_weighers=["WeigherOfAnotherDriver"])
    if is_checked:
        with pytest.raises(errors.BadConfiguration, match="WeigherOfAnotherDriver"):
            weighers.check(conf)
    else:
        weighers.check(conf)
