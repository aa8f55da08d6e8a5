# SPDX-License-Identifier: Apache-2.0
"""Options of the dashboard that would let nobody, or everybody, in."""

import pytest
from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import dashboard, register_groups

TOKEN = "a" * 20


def check(**options: object) -> None:
    conf = cfg.ConfigOpts()
    register_groups(conf, dashboard)
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    for name, value in options.items():
        conf.set_override(name, value, group=dashboard.GROUP)
    dashboard.check(conf)


def test_token_or_keystone_is_enough() -> None:
    check(token=TOKEN, exporters=["http://192.0.2.1:9402/metrics"])
    check(token=TOKEN, host="192.0.2.1", behind_tls_proxy=True)
    check(auth_strategy="keystone", auth_url="https://keystone.example.org/v3")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "token must have at least 20 characters"),
        ({"token": TOKEN[:-1]}, "token must have at least 20 characters"),
        ({"auth_strategy": "keystone"}, "auth_strategy = keystone needs .* auth_url"),
        ({"token": TOKEN, "host": "192.0.2.1"}, "host = 192.0.2.1 can be reached from other machines"),
        ({"token": TOKEN, "host": "::"}, "without TLS"),
        ({"token": TOKEN, "exporters": ["file:///etc/passwd"]}, "exporters has 'file:///etc/passwd'"),
        ({"token": TOKEN, "exporters": ["http://[::1/metrics"]}, "is not an HTTP URL"),
        ({"token": TOKEN, "exporters": ["http:///metrics"]}, "is not an HTTP URL"),
        ({"token": TOKEN, "tls_key_file": "x.key"}, "tls_key_file and tls_client_ca_file need tls_cert_file"),
        ({"token": TOKEN, "tls_cert_file": "/missing.pem"}, "/missing.pem"),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], why: str) -> None:
    with pytest.raises(errors.BadConfiguration, match=why):
        check(**options)


def test_refusal_does_not_show_the_token() -> None:
    with pytest.raises(errors.BadConfiguration) as caught:
        check(**{"token": "short-secret"})
    assert "short-secret" not in str(caught.value)
