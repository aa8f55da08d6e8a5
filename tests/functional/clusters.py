# SPDX-License-Identifier: Apache-2.0
"""Whole clusters for tests: started in a folder of their own, and stopped whatever happens."""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

from devstack import exercise
from devstack.cluster import Cluster, Mode, Shape
from devstack.confs import Groups
from rpcapi.shell.session import Session
from tests.run_folders import claim_folder, release_folder

READY_SECONDS = 90.0
SMALL = Shape(computes=2, nodes_per_host=3, schedulers=2)


@dataclasses.dataclass
class Running:
    """A cluster that serves, and a session to talk to it."""

    cluster: Cluster
    session: Session

    @property
    def folder(self) -> Path:
        """The run folder, with logs and state."""
        return self.cluster.layout.folder


@contextlib.contextmanager
def running(
    shape: Shape = SMALL, overrides: Mapping[str, Groups] | None = None, ready: bool = True
) -> Iterator[Running]:
    """Start a cluster and yield it when all its nodes are open to claims; stop it at the end."""
    folder = claim_folder()
    cluster = Cluster(folder, shape, overrides)
    try:
        cluster.start()
        session = Session([str(cluster.client_conf)])
        if ready:
            exercise.wait_for_nodes(session, shape.nodes, READY_SECONDS, lambda known: None)
        yield Running(cluster, session)
    finally:
        cluster.stop()
        release_folder(folder)


def on(mode: Mode, shape: Shape = SMALL) -> Shape:
    """Return the shape on another bus and store."""
    return dataclasses.replace(shape, mode=mode)
