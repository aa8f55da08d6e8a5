# SPDX-License-Identifier: Apache-2.0
"""Stop the cluster of the run folder and remove the folder."""

import sys

from devstack.cluster import Cluster
from devstack.layout import default_folder
from devstack.servers.errors import ServerError


def main() -> int:
    """Return 0 when nothing of the cluster is left."""
    folder = default_folder()
    cluster = Cluster.find(folder)
    if cluster is None:
        print(f"No cluster is in {folder}: nothing to stop.")
        return 0
    try:
        names = cluster.running
        cluster.destroy()
    except ServerError as why:
        print(f"unstack.sh: {why}", file=sys.stderr)
        return 1
    print(f"Stopped {', '.join(names) or 'nothing (no process was left)'} and removed {folder}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
