# SPDX-License-Identifier: Apache-2.0
"""The conductor's options."""

import pytest
from oslo_config import cfg

from conductor import conf as conductor_conf
from conductor.conf import opts, store
from rpcapi import errors


def test_every_option_is_listed_for_the_sample_file(conf: cfg.ConfigOpts) -> None:
    conductor_conf.register_opts(conf)
    for group, options in opts.list_opts():
        assert {option.dest for option in options} == set(conf[group])


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
