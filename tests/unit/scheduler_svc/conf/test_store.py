# SPDX-License-Identifier: Apache-2.0
"""Options of group [store]."""

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import store


@pytest.mark.parametrize(
    "option", [option for option in store.OPTS if hasattr(option.type, "max")], ids=lambda o: o.name
)
def test_store_option_limits_fit_every_backend(option):
    assert option.type.min is not None and option.type.max is not None


def configure(conf, **options):
    scheduler_conf.register_opts(conf)
    for name, value in options.items():
        conf.set_override(name, value, group="store")
    return conf


def test_default_store_is_valid(conf):
    store.check(configure(conf))


@pytest.mark.parametrize(
    "options",
    [
        {"url": "http://u:hidden@host/"},
        {"state_url": "redis://u:hidden@host/", "state_namespaces": ["volume"]},
        {"state_namespaces": ["volume"]},
    ],
)
def test_invalid_url_is_refused_without_showing_it(conf, options):
    with pytest.raises(errors.BadConfiguration, match=r"store. (state_)?url") as caught:
        store.check(configure(conf, **options))
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("durability", "never"),
        ("log_length", 999),
        ("service_down_time", 0.5),
        ("tombstone_ttl", 1),
        ("audit_grace", -1),
    ],
)
def test_value_outside_the_limits_is_refused(conf, option, value):
    with pytest.raises(ValueError):
        configure(conf, **{option: value})


def test_default_tombstones_outlive_claims_and_the_grace_of_audits(conf):
    configure(conf)
    assert conf.store.tombstone_ttl > max(conf.scheduler.claim_ttl, conf.store.audit_grace)
