# SPDX-License-Identifier: Apache-2.0
"""Cleanup of a run folder whose cluster record cannot be read."""

from devstack.deploy.users.errors import FolderUnusable
from devstack.layout import Layout
from devstack.servers.process import ServerProcess, stop_together

STOP_SECONDS = 45.0


def clear(layout: Layout) -> list[str]:
    """Stop all processes with pid files, and remove the folder. Raises FolderUnusable if it contains foreign files."""
    if not layout.present:
        return []
    foreign = layout.foreign_files()
    if foreign:
        raise FolderUnusable(
            f"{layout.folder} has no readable cluster.json and contains files of no cluster: {', '.join(foreign)}. "
            f"Nothing was changed; check the folder, or set GANTT_RUN to another one."
        )
    files = sorted(layout.folder.rglob("*.pid"))
    daemons = [path for path in files if path.parent == layout.folder]
    servers = [path for path in files if path.parent != layout.folder]
    stopped: list[str] = []
    for paths in (daemons, servers):
        processes = [ServerProcess(path.stem, path, path.with_suffix(".log")) for path in paths]
        stopped += [process.name for process in processes if process.pid is not None]
        stop_together(processes, STOP_SECONDS)
    layout.remove()
    return stopped
