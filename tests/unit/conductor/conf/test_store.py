# SPDX-License-Identifier: Apache-2.0
"""The URL of the conductor's store."""

import pytest
from oslo_config import cfg

from conductor import conf as conductor_conf
from conductor.conf import store
from rpcapi import errors


@pytest.mark.parametrize(
    "url", ["redis://h:1/0", "rediss://h", "unix:///x?db=0", "rediss://h/0?ssl_ca_certs=/ca", "memory://"]
)
def test_valid_store_urls(conf: cfg.ConfigOpts, url: str) -> None:
    conductor_conf.register_opts(conf)
    conf.set_override("url", url, group="conductor_store")
    store.check(conf)


@pytest.mark.parametrize(
    "url",
    [
        "http://user:secret@h",
        "",
        "h:6379",
        "secret",
        "banana",
        "redis://u:secret/more@h:6379/0",
        "redis://h:secret/0",
        "unix://u:secret@",
        "unix:///nope?x=secret",
        "redis://h?db=secret",
        "redis://u:half?secret@h",
    ],
)
def test_invalid_store_urls_are_refused_without_showing_them(conf: cfg.ConfigOpts, url: str) -> None:
    conductor_conf.register_opts(conf)
    conf.set_override("url", url, group="conductor_store")
    with pytest.raises(errors.BadConfiguration, match=r"\[conductor_store\] url") as caught:
        store.check(conf)
    assert "secret" not in str(caught.value)


def test_records_of_deleted_instances_are_kept_for_a_day(conf: cfg.ConfigOpts) -> None:
    conductor_conf.register_opts(conf)
    assert conf.conductor_store.retention == 24 * 3600
    with pytest.raises(ValueError, match="Should be"):
        conf.set_override("retention", -1.0, group="conductor_store")


def test_url_is_not_logged() -> None:
    (url,) = (option for option in store.OPTS if option.name == "url")
    assert url.secret
