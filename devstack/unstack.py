# SPDX-License-Identifier: Apache-2.0
"""Stop the cluster that stack.sh started and remove its run folder."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from devstack.cluster import DevstackCluster
from devstack.deploy.users.errors import DevstackError, FolderUnusable
from devstack.layout import ClusterRecordBroken, Layout, default_folder
from devstack.servers.process import ServerProcess, stop_together

STARTER_SECONDS, STOP_SECONDS = 60.0, 45.0


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


def main(argv: Sequence[str] | None = None) -> int:
    argparse.ArgumentParser(prog="unstack.sh", description=__doc__).parse_args(argv)
    folder = default_folder()
    try:
        names = _stop(folder)
    except DevstackError as why:
        print(f"unstack.sh: {why}", file=sys.stderr)
        return 1
    if names is None:
        print(f"There is no cluster in {folder}: nothing to stop.")
        return 0
    print(f"Stopped {', '.join(names) or 'nothing (no process was running)'} and removed {folder}.")
    return 0


def _stop(folder: Path) -> list[str] | None:
    """Return the names of the stopped processes, None without a cluster."""
    try:
        cluster = DevstackCluster.find(folder)
    except ClusterRecordBroken:
        return clear(Layout(folder))
    if cluster is None:
        return None
    names = cluster.running
    # A stack.sh that still waits for this cluster would otherwise wait until its timeout; it stops the cluster itself.
    cluster.layout.starter.signal(signal.SIGTERM)
    cluster.layout.starter.wait_exit(STARTER_SECONDS)
    cluster.destroy()
    return names


if __name__ == "__main__":
    sys.exit(main())
