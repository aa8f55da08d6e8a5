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
def running(peer: peer_environments.Peer, script: str) -> Iterator[side.PeerProcess]:
    """Run a script with the Python of a peer's environment."""
    try:
        python = peer_environments.python(peer, peer_environments.default_cache())
    except peer_environments.PeerMissing as error:
        pytest.skip(str(error))
    with side.running([str(python), str(INSIDE / script)]) as process:
        yield process
