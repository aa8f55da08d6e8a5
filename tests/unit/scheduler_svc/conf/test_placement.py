# SPDX-License-Identifier: Apache-2.0
"""Options of gantt-placement."""

import pytest
from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.conf import placement_service


def configured(**options):
    conf = cfg.ConfigOpts()
    placement_service.register_opts(conf)
    conf([])
    for name, value in options.items():
        conf.set_override(name, value, group="api" if name == "auth_strategy" else "placement")
    return conf


@pytest.mark.parametrize("host", ["::", "198.51.100.7", "192.0.2.1", "placement.example"])
def test_believed_tokens_on_a_public_address_are_refused(host):
    with pytest.raises(errors.BadConfiguration, match="insecure_public = true"):
        placement_service.check(configured(auth_strategy="noauth2", host=host))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"host": "192.0.2.1"},
        {"auth_strategy": "noauth2"},
        {"auth_strategy": "noauth2", "host": "::1"},
        {"auth_strategy": "noauth2", "host": "localhost"},
        {"auth_strategy": "noauth2", "host": "192.0.2.1", "insecure_public": True},
    ],
)
def test_other_addresses_are_accepted(options):
    placement_service.check(configured(**options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tls_cert_file": "/absent/server.pem"}, r"\[placement\] tls_cert_file: /absent/server\.pem cannot be read"),
        ({"tls_key_file": "/absent/server.key"}, "need tls_cert_file"),
        ({"tls_client_ca_file": "/absent/ca.pem"}, "need tls_cert_file"),
    ],
)
def test_files_that_tls_cannot_use_are_refused_at_start(options, message):
    with pytest.raises(errors.BadConfiguration, match=message):
        placement_service.check(configured(**options))
