# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ's management API, which tests/functional/test_enrollment.py uses for real."""

import pytest

from devstack.servers.ports import LOOPBACK, free_port
from rpcapi import errors
from rpcapi.access.rabbit_management import BrokerAdministration


def test_unreachable_broker_is_unavailable_and_its_password_is_not_shown():
    administration = BrokerAdministration(f"http://admin:secret@{LOOPBACK}:{free_port()}/gantt")
    with pytest.raises(errors.Unavailable) as caught:
        administration.revoke("gantt-compute.h1")
    assert "users/gantt-compute.h1" in str(caught.value) and "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["", "broker", "https://broker:15671", "ftp://a:secret@b", "https://a@b"])
def test_url_without_an_administrator_is_refused(url):
    with pytest.raises(ValueError, match="must be like") as caught:
        BrokerAdministration(url)
    assert "secret" not in str(caught.value)
