# SPDX-License-Identifier: Apache-2.0
"""Virtual environments of the peers (Nova, Placement), for the lab, Nova clouds and tests."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from devstack.servers.errors import BinaryMissing

INSTALL_SECONDS = 1800.0
READY = "gantt-lab-installed"  # written last, so that an incomplete environment is not used
TAIL = 600


class PeerMissing(BinaryMissing):
    """Raised when a peer is not installed or cannot be installed; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Environment of a peer with its requirements; ``command`` with --install creates it."""

    name: str
    version: str
    requirements: tuple[str, ...]
    command: str

    @property
    def release(self) -> str:
        return f"{self.name} {self.version}"


NOVA, PLACEMENT = "nova 34.0.0", "placement 16.0.0"
# Nova and Placement as a cloud deploys them; the lab compares them with gantt, too.
NOVA_CLOUD = Peer(
    "nova-cloud",
    "34.0.0",
    (
        *("nova==34.0.0", "openstack-placement==16.0.0"),
        *("oslo.messaging==18.3.1", "PyMySQL==1.2.4", "cheroot>=11,<12"),
    ),
    "./devstack/nova.sh",
)


def default_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gantt-lab" / "peers"


def python(cache: Path | None = None, peer: Peer = NOVA_CLOUD) -> Path:
    folder = _folder(peer, cache)
    if not (folder / READY).exists():
        raise PeerMissing(
            f"{peer.release} is not installed in {folder.parent}: `{peer.command} --install` installs it from PyPI "
            f"into a virtual environment of its own"
        )
    return folder / "bin" / "python"


def install(cache: Path | None = None, peer: Peer = NOVA_CLOUD) -> None:
    """Create the peer's environment if it is missing. On failure, remove it and raise PeerMissing."""
    folder = _folder(peer, cache)
    if (folder / READY).exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True)
        _run(peer, [sys.executable, "-m", "venv", str(folder)])
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
        _run(peer, [*pip, "--quiet", *peer.requirements])
        (folder / READY).write_text("\n".join(peer.requirements))
    except OSError as why:
        shutil.rmtree(folder, ignore_errors=True)
        raise PeerMissing(f"{peer.release} cannot be installed in {folder}: {why}") from why
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _folder(peer: Peer, cache: Path | None) -> Path:
    return (cache or default_cache()) / f"{peer.name}-{peer.version}"


def _run(peer: Peer, command: list[str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command, no shell
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as why:
        raise PeerMissing(f"{peer.release} could not be installed within {INSTALL_SECONDS:g} s") from why
    if done.returncode:
        raise PeerMissing(f"{peer.release} could not be installed: {done.stderr.strip()[-TAIL:]}")
