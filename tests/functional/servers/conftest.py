# SPDX-License-Identifier: Apache-2.0
"""What several suites of the servers need."""

import socket
from collections.abc import Iterator

import pytest

from devstack.servers.ports import LOOPBACK, free_port


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port on which somebody else listens."""
    with socket.create_server((LOOPBACK, free_port())) as listener:
        yield listener.getsockname()[1]
