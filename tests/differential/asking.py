# SPDX-License-Identifier: Apache-2.0
"""Runs peers (Nova, Placement) in separate environments; tests are skipped if a peer is not installed."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack import peer_environments
from devstack.lab.peers import side

INSIDE = Path(__file__).parent / "inside"


@contextlib.contextmanager
def running(script: str | Path) -> Iterator[side.PeerProcess]:
    """Run a script with the Python of the peers' environment."""
    try:
        python = peer_environments.python()
    except peer_environments.PeerMissing as error:
        pytest.skip(str(error))
    with side.running([str(python), str(INSIDE / script)]) as process:
        yield process
