# SPDX-License-Identifier: Apache-2.0
"""Peers (Nova, Placement) in virtual environments of their own, for the lab, Nova's cloud and the tests."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from rpcapi.admin.argument import Argument

INSTALL_SECONDS = 1800.0
READY = "gantt-lab-installed"  # written last, so that an incomplete environment is not used
TAIL = 600


class PeerMissing(Exception):
    """Raised when a peer is not installed or cannot be; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A project that does the same work: its name, its package and version on PyPI, and the script that runs it.

    ``servers`` are packages that the script needs to serve it, ``command`` the one whose --install installs it.
    """

    name: str
    package: str
    version: str
    script: str
    servers: tuple[str, ...] = ()
    command: str = "./devstack/lab.sh peers"

    @property
    def release(self) -> str:
        """Name and version as text."""
        return f"{self.name} {self.version}"


NOVA = Peer("nova", "nova", "34.0.0", "nova_side.py")
PLACEMENT = Peer("placement", "openstack-placement", "16.0.0", "placement_side.py")
PLACEMENT_SERVER = Peer(
    "placement-server",
    PLACEMENT.package,
    PLACEMENT.version,
    "placement_http_side.py",
    ("cheroot>=11,<12", "PyMySQL"),
    "./devstack/lab.sh placement",
)
PEERS = (NOVA, PLACEMENT)


def default_cache() -> Path:
    """Return the folder of the environments."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gantt-lab" / "peers"


CACHE = Argument(
    "--cache",
    type=Path,
    default=default_cache(),
    metavar="FOLDER",
    help="Folder of the peers' environments (%(default)s).",
)


def python(peer: Peer, cache: Path) -> Path:
    """Return the Python of the peer's environment; raises PeerMissing if it is not installed."""
    folder = _folder(peer, cache)
    if not (folder / READY).exists():
        raise PeerMissing(
            f"{peer.release} is not installed in {cache}: `{peer.command} --install` installs it from PyPI into "
            f"a virtual environment of its own"
        )
    return folder / "bin" / "python"


def install(peer: Peer, cache: Path) -> None:
    """Create the peer's environment if it is missing; raises PeerMissing and removes an incomplete one."""
    folder = _folder(peer, cache)
    if (folder / READY).exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True)
        _run(peer, [sys.executable, "-m", "venv", str(folder)])
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
        _run(peer, [*pip, "--quiet", f"{peer.package}=={peer.version}", *peer.servers])
        (folder / READY).write_text(f"{peer.package}=={peer.version}\n")
    except OSError as why:
        shutil.rmtree(folder, ignore_errors=True)
        raise PeerMissing(f"{peer.release} cannot be installed in {folder}: {why}") from why
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _folder(peer: Peer, cache: Path) -> Path:
    return cache / f"{peer.name}-{peer.version}"


def _run(peer: Peer, command: list[str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command, no shell
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as why:
        raise PeerMissing(f"{peer.release} could not be installed within {INSTALL_SECONDS:g} s") from why
    if done.returncode:
        raise PeerMissing(f"{peer.release} could not be installed: {done.stderr.strip()[-TAIL:]}")
