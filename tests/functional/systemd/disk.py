# SPDX-License-Identifier: Apache-2.0
"""A machine's disk that keeps its changes from one boot to the next: an overlay in memory over a shared root."""

import subprocess
from pathlib import Path


class Disk:
    """A root folder whose changes are kept in memory until it is removed; ``folder`` is an empty one for its mounts."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._layers = folder / "layers"
        self.path = folder / "root"

    def mount(self) -> None:
        """Mount it; the changes are in a tmpfs, because a container's own file system cannot be an upper layer."""
        self._layers.mkdir(parents=True)
        self.path.mkdir()
        _run("mount", "-t", "tmpfs", "-o", "mode=755", "gantt-disk", str(self._layers))
        upper, work = self._layers / "upper", self._layers / "work"
        upper.mkdir()
        work.mkdir()
        layers = f"lowerdir={self._root},upperdir={upper},workdir={work}"
        _run("mount", "-t", "overlay", "-o", layers, "gantt-disk", str(self.path))

    def remove(self) -> None:
        """Unmount it; its changes go with it."""
        for path in (self.path, self._layers):
            if path.is_mount():
                _run("umount", "--lazy", str(path))


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: {done.stderr}")
