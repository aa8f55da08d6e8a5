# SPDX-License-Identifier: Apache-2.0
"""Clearing away a cluster whose run folder no longer tells what it was."""

from devstack.layout import Layout
from devstack.servers.errors import FolderUnusable
from devstack.servers.process import ServerProcess, stop_together

STOP_SECONDS = 45.0


def clear(layout: Layout) -> list[str]:
    """Stop what the pid files name, daemons before servers, and remove the folder; return what was stopped.

    Raises FolderUnusable, and touches nothing, when the folder is not the caller's alone or holds anything that no
    cluster puts there: then the broken file may be of another program altogether.
    """
    if not layout.present:
        return []
    strangers = layout.strangers()
    if strangers:
        raise FolderUnusable(
            f"{layout.folder} has no readable cluster.json and holds what is no cluster's: {', '.join(strangers)}. "
            f"Nothing was touched; look at it, or choose another folder with GANTT_RUN."
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
