# SPDX-License-Identifier: Apache-2.0
"""Stop the cluster of the run folder and remove the folder."""

import sys
from pathlib import Path

from devstack import cleanup
from devstack.cluster import Cluster
from devstack.layout import ClusterRecordBroken, Layout, default_folder
from devstack.servers.errors import ServerError


def main() -> int:
    """Stop the cluster; return 0 on success."""
    folder = default_folder()
    try:
        names = _stop(folder)
    except ServerError as why:
        print(f"unstack.sh: {why}", file=sys.stderr)
        return 1
    if names is None:
        print(f"There is no cluster in {folder}: nothing to stop.")
        return 0
    print(f"Stopped {', '.join(names) or 'nothing (no process was running)'} and removed {folder}.")
    return 0


def _stop(folder: Path) -> list[str] | None:
    """Return the names of the stopped processes, None if the folder contains no cluster."""
    try:
        cluster = Cluster.find(folder)
    except ClusterRecordBroken:
        return cleanup.clear(Layout(folder))
    if cluster is None:
        return None
    names = cluster.running
    cluster.destroy()
    return names


if __name__ == "__main__":
    sys.exit(main())
