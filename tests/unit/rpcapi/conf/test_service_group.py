# SPDX-License-Identifier: Apache-2.0
"""The driver of the service group and its URL."""

import importlib.util

import pytest

from rpcapi import errors
from rpcapi.conf import register_groups, service_group


@pytest.fixture
def configured(conf):
    """Return a function that sets the driver and its URL."""
    register_groups(conf, service_group)

    def configure(driver, url=""):
        conf.set_override("driver", driver, group="service_group")
        conf.set_override("backend_url", url, group="service_group")
        return conf

    return configure


def test_store_driver_needs_no_url(configured):
    service_group.check(configured("store", "anything"))


def test_supported_url_passes(configured):
    service_group.check(configured("tooz", "zookeeper://host:2181"))


@pytest.mark.parametrize("url", ["", "carrier-pigeon://u:secret@host"])
def test_unsupported_url_is_refused_and_not_shown(configured, url):
    with pytest.raises(
        errors.BadConfiguration, match=r"\[service_group\] backend_url must begin with .*zookeeper://"
    ) as caught:
        service_group.check(configured("tooz", url))
    assert "secret" not in caught.value.sentence


def test_missing_package_error_names_the_package(configured, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(errors.BadConfiguration, match="pip install tooz"):
        service_group.check(configured("tooz", "zookeeper://host"))
