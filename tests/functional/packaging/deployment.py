# SPDX-License-Identifier: Apache-2.0
"""The machines of a guide, on a network of their own, with what it requires and nothing more."""

import contextlib
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.functional.packaging.programs import need_programs
from tests.functional.systemd import root
from tests.functional.systemd.disk import Disk
from tests.functional.systemd.machine import Machine, Place
from tests.functional.systemd.network import Network, require_network
from tests.support.clusters.guide import Guide

PREFIX = 24  # the length of the network's
# Debian's own packages come from apt's cache in the root; ssh accepts a machine that it sees for the first time.
PREPARATION = """
echo '127.0.0.1 localhost' > /etc/hosts
rm -r /opt/gantt
ln -s /srv/shared /srv/gantt
apt-get install --yes --no-install-recommends openssh-server
install -d -m 0700 /root/.ssh
"""
KEY = """
ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519
echo 'StrictHostKeyChecking accept-new' > /root/.ssh/config
"""


class Deployment:
    """Machines by name, with the packages in ``shared``; their disks are mounted in ``folder``."""

    def __init__(self, folder: Path, shared: Path, guide: Guide) -> None:
        base = root.ready_root()
        addresses = guide.machines()
        self.guide = guide
        self.network = Network({name: f"{address}/{PREFIX}" for name, address in addresses.items()})
        self._disks = {name: Disk(base, folder / name) for name in addresses}
        self.machines = {
            name: Machine(disk.path, shared, Place(name, self.network.path(name))) for name, disk in self._disks.items()
        }

    def boot(self) -> None:
        """Boot all machines, and install the key by which root of the first one logs in to each."""
        self.network.create()
        for name, machine in self.machines.items():
            self._disks[name].mount()
            (self._disks[name].path / "etc/hostname").write_text(f"{name}\n")
            machine.boot()
            machine.script(PREPARATION)
        first = next(iter(self.machines.values()))
        first.script(KEY)
        public = first.run("cat", "/root/.ssh/id_ed25519.pub").stdout
        for machine in self.machines.values():
            machine.write("/root/.ssh/authorized_keys", public)

    def follow(self, *sections: str) -> None:
        """Run the commands of sections of the guide in their order."""
        self._run((self.guide, section) for section in sections)

    def follow_steps(self) -> None:
        """Run the commands of the steps of the guide, some of which are sections of other pages."""
        self._run(self.guide.steps())

    def _run(self, steps: Iterable[tuple[Guide, str]]) -> None:
        for block in (block for guide, section in steps for block in guide.blocks(section)):
            for name in block.machines:
                self.machines[name].script(block.commands)

    def lose(self, name: str) -> None:
        """Disconnect a machine, then cut its power: its peers get no packet that closes their connections."""
        self.network.disconnect(name)
        self.machines[name].lose_power()

    def bring_back(self, name: str) -> None:
        self.network.connect(name)
        self.machines[name].boot()

    def halt(self) -> None:
        """Halt all machines, and remove the disks and the network."""
        for machine in self.machines.values():
            machine.halt()
        for disk in self._disks.values():
            disk.remove()
        self.network.delete()


@contextlib.contextmanager
def running_deployment(guide: Guide, packages: Iterable[Path], folder: Path) -> Iterator[Deployment]:
    """Boot the machines of a guide, with the packages where it expects them; their disks are mounted in ``folder``.

    Skips the test where this machine has no privilege for a network of its own.
    """
    need_programs({"ip": "iproute2"})
    require_network()
    shared = copy_packages(packages, folder / "shared")
    deployment = Deployment(folder, shared, guide)
    try:
        deployment.boot()
        yield deployment
    finally:
        deployment.halt()


def copy_packages(packages: Iterable[Path], folder: Path) -> Path:
    """Copy packages to a new folder, which machines can read; return it."""
    folder.mkdir()
    for package in packages:
        shutil.copy(package, folder)
    return folder
