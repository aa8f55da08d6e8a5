# SPDX-License-Identifier: Apache-2.0
"""Virtual environment of Nova's services."""

from pathlib import Path

from devstack import peer_environments
from devstack.peer_environments import Peer, PeerMissing
from devstack.servers.errors import BinaryMissing

INSIDE = Path(__file__).parent / "inside"
NOVA_CLOUD = Peer(
    "nova-cloud",
    "nova",
    "34.0.0",
    "compute.py",
    ("openstack-placement==16.0.0", "oslo.messaging==18.3.1", "PyMySQL==1.2.4", "cheroot>=11,<12"),
    "./devstack/nova.sh",
)


def install() -> None:
    """Install Nova from PyPI if it is missing. Raises BinaryMissing."""
    try:
        peer_environments.install(NOVA_CLOUD, peer_environments.default_cache())
    except PeerMissing as why:
        raise BinaryMissing(str(why)) from why


def folder() -> Path:
    """Return the environment's folder. Raises BinaryMissing if Nova is not installed."""
    try:
        return peer_environments.python(NOVA_CLOUD, peer_environments.default_cache()).parents[1]
    except PeerMissing as why:
        raise BinaryMissing(str(why)) from why
