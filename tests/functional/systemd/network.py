# SPDX-License-Identifier: Apache-2.0
"""A network of its own for several machines: a network namespace for each, joined by a bridge in another one.

Nothing of it is in the namespace of the tests, and no packet leaves it.
"""

import contextlib
import re
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest

NAMESPACES = Path("/run/netns")  # where `ip netns` mounts them
INTERFACE = "host0"  # as systemd-nspawn names it
BRIDGE = "switch"


class Network:
    """The namespaces of machines by name, each with the address ``addresses`` has for it (with its prefix length)."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._addresses = dict(addresses)
        self._prefix = f"gantt-{uuid.uuid4().hex[:8]}"
        self._switch = f"{self._prefix}-{BRIDGE}"
        self._ports = {machine: f"port{number}" for number, machine in enumerate(addresses)}

    def path(self, machine: str) -> Path:
        """The namespace of a machine, for ``systemd-nspawn --network-namespace-path``."""
        return NAMESPACES / self._name(machine)

    def create(self) -> None:
        """Create the namespaces and connect them."""
        _ip("netns", "add", self._switch)
        _ip("-n", self._switch, "link", "add", BRIDGE, "type", "bridge")
        _ip("-n", self._switch, "link", "set", BRIDGE, "up")
        for machine, address in self._addresses.items():
            name, port = self._name(machine), self._ports[machine]
            _ip("netns", "add", name)
            _ip("-n", name, "link", "add", INTERFACE, "type", "veth", "peer", "name", port, "netns", self._switch)
            _ip("-n", self._switch, "link", "set", port, "master", BRIDGE, "up")
            _ip("-n", name, "addr", "add", address, "dev", INTERFACE)
            _ip("-n", name, "link", "set", INTERFACE, "up")
            _ip("-n", name, "link", "set", "lo", "up")

    def disconnect(self, machine: str) -> None:
        """Pull a machine's cable: its packets, and those to it, vanish."""
        _ip("-n", self._switch, "link", "set", self._ports[machine], "down")

    def connect(self, machine: str) -> None:
        _ip("-n", self._switch, "link", "set", self._ports[machine], "up")

    def delete(self) -> None:
        """Delete the namespaces, with what is in them."""
        for name in (self._switch, *map(self._name, self._addresses)):
            with contextlib.suppress(AssertionError):  # a creation that failed
                _ip("netns", "delete", name)

    def _name(self, machine: str) -> str:
        return f"{self._prefix}-{machine}"


def require_network() -> None:
    """Skip where a privilege, or the kernel's bridge, is missing; only this may skip these tests in CI."""
    probe = Network({"probe": "192.0.2.1/24"})
    try:
        probe.create()
    except AssertionError as why:
        if not re.search("not permitted|not supported|Unknown device type", str(why)):
            raise
        pytest.skip(f"NO PRIVILEGE to make a network here: {why}")
    finally:
        probe.delete()


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"ip {' '.join(arguments)}: {done.stderr}")
