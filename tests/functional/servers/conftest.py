# SPDX-License-Identifier: Apache-2.0
"""Fixtures shared by the server suites."""

import socket
from collections.abc import Iterator

import pytest

from devstack.servers.ports import LOOPBACK, free_port


@pytest.fixture
def used_port() -> Iterator[int]:
    """A port that is in use."""
    with socket.create_server((LOOPBACK, free_port())) as listener:
        yield listener.getsockname()[1]
