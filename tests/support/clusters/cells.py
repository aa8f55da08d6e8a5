# SPDX-License-Identifier: Apache-2.0
"""Two partitions in one cluster: the second has a store and an agent of its own."""

import sys
from dataclasses import dataclass
from pathlib import Path

from devstack import confs
from devstack.cluster import DevstackCluster
from devstack.confs import Groups
from devstack.deploy.users.folder import write_private
from devstack.servers.process import ServerProcess
from devstack.servers.redis import RedisServer

HERE = "default"


THERE = "second"


@dataclass
class Cell:
    """The store, folder and agent of the second partition."""

    store: RedisServer
    agent: ServerProcess

    @staticmethod
    def command(cluster: DevstackCluster, folder: Path) -> list[str]:
        """Return the command line of its agent: as the first one's, with a few other options."""
        own: Groups = {
            "rpc": {"partition": THERE},
            "compute": {"hosts": "compute[2-3]", "state_path": folder / "state"},
            # Much larger, so that all servers go there unless something prevents it.
            **{shape: {"vcpus": 1000, "memory_mb": 4_000_000, "disk_gb": 40_000} for shape in confs.NODE_SHAPES},
        }
        write_private(folder / "second.conf", confs.text(own))
        files = ["--config-file", str(cluster.layout.conf("compute")), "--config-file", str(folder / "second.conf")]
        return [str(Path(sys.executable).with_name("gantt-compute")), *files]
