# SPDX-License-Identifier: Apache-2.0
"""Loopback ports."""

import socket

import pytest

from devstack.servers import ports
from devstack.servers.errors import PortInUse, ServerError


@pytest.fixture
def listener():
    with socket.create_server((ports.LOOPBACK, 0)) as server:
        yield server.getsockname()[1]


def test_port_of_a_listener_answers_and_is_not_free(listener):
    assert (ports.is_free(listener), ports.answers(listener)) == (False, True)
    with pytest.raises(PortInUse, match=f"redis cannot start: port {listener} on 127"):
        ports.require_free(listener, "redis")


def test_free_port_is_in_the_range_and_accepted():
    port = ports.free_port()
    assert ports.FIRST <= port < ports.LAST
    ports.require_free(port, "redis")
    assert not ports.answers(port)


def test_range_without_a_free_port_is_reported(monkeypatch):
    monkeypatch.setattr(ports, "is_free", lambda port: False)
    with pytest.raises(ServerError, match="No free TCP port"):
        ports.free_port()
