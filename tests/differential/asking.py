# SPDX-License-Identifier: Apache-2.0
"""Peers to be asked, in environments of their own; tests skip where one was not installed."""

import contextlib
from collections.abc import Iterator

import pytest

from devstack.lab.peers import environments, side


@contextlib.contextmanager
def running(peer: environments.Peer, script: str) -> Iterator[side.PeerProcess]:
    """Run one of our scripts with the Python of a peer's environment."""
    try:
        python = environments.python(peer, environments.default_cache())
    except environments.PeerMissing as why:
        pytest.skip(str(why))
    with side.running([str(python), str(side.INSIDE / script)]) as started:
        yield started
