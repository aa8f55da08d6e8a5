# SPDX-License-Identifier: Apache-2.0
"""Options of gantt-placement-shadow that a type does not check."""

import pytest

from rpcapi import errors
from scheduler_svc.conf import placement_shadow
from tests.support.certificates import write_certificates


@pytest.mark.parametrize(
    ("placement_url", "gantt_url", "text"),
    [
        (None, "http://gantt.example", "placement_url is not set"),
        ("http://placement.example", None, "gantt_url is not set"),
        ("http://one.example/", "http://one.example", "are both"),
    ],
)
def test_both_ends_are_required(conf, placement_url, gantt_url, text):
    placement_shadow.register_opts(conf)
    conf.set_override("placement_url", placement_url, group=placement_shadow.GROUP)
    conf.set_override("gantt_url", gantt_url, group=placement_shadow.GROUP)
    with pytest.raises(errors.BadConfiguration, match=text):
        placement_shadow.check(conf)


def test_two_ends_are_accepted(conf):
    placement_shadow.register_opts(conf)
    conf.set_override("placement_url", "http://one.example", group=placement_shadow.GROUP)
    conf.set_override("gantt_url", "http://two.example", group=placement_shadow.GROUP)
    placement_shadow.check(conf)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tls_key_file": "server.key"}, "need tls_cert_file"),
        ({"tls_cert_file": "absent.pem"}, r"absent\.pem cannot be read"),
        ({"gantt_ca_file": "ca.pem"}, "gantt_ca_file needs an https URL"),
        ({"placement_ca_file": "server.key"}, "placement_url: .* has no CA certificate"),
        ({"client_key_file": "client.key"}, "but no client certificate"),
        (
            {"client_cert_file": "client.pem", "client_key_file": "server.key"},
            "are not a client certificate and its key",
        ),
    ],
)
def test_files_of_tls_are_checked(conf, tmp_path, options, message):
    folder = write_certificates(tmp_path)
    placement_shadow.register_opts(conf)
    urls = {"placement_url": "https://one.example", "gantt_url": "http://two.example"}
    for name, value in urls.items():
        conf.set_override(name, value, group=placement_shadow.GROUP)
    placement_shadow.check(conf)
    for name, value in options.items():
        conf.set_override(name, str(folder / value), group=placement_shadow.GROUP)
    with pytest.raises(errors.BadConfiguration, match=message):
        placement_shadow.check(conf)
