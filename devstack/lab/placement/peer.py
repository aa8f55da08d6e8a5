# SPDX-License-Identifier: Apache-2.0
"""The peer's side: OpenStack Placement on a private MariaDB, served as gantt-placement is."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devstack.lab.interruption import defer_signals
from devstack.lab.peers import side
from devstack.lab.placement.client import HttpClient
from devstack.lab.placement.cloud import Cloud
from devstack.lab.temporary_folder import in_temporary_folder
from devstack.peer_environments import PLACEMENT_SERVER
from devstack.servers.mariadb import MariadbServer
from devstack.servers.ports import free_port


@dataclass(frozen=True, slots=True)
class PlacementSide:
    """A running Placement, and the processes that serve requests: the API's and the database's."""

    port: int
    pids: tuple[int, ...]

    def used(self, provider: str) -> Mapping[str, int]:
        """Return what is held from a provider, from the API."""
        client = HttpClient(self.port)
        try:
            usages: Mapping[str, int] = json.loads(client.get(f"/resource_providers/{provider}/usages"))["usages"]
            return usages
        finally:
            client.close()


@contextlib.contextmanager
def running(cloud: Cloud, workers: int, flush: int, python: Path) -> Iterator[PlacementSide]:
    """Start the database and the API with the cloud in it.

    ``flush`` is innodb_flush_log_at_trx_commit: 1 is a sync at each commit, 0 one each second. ``python`` is that of an
    environment with Placement, cheroot and PyMySQL. Raises PeerFailed, ServerError or BinaryMissing.
    """
    command = [str(python), "-s", str(side.INSIDE / PLACEMENT_SERVER.script)]
    with _database(flush) as database, side.running(command) as process:
        port = free_port()
        values: dict[str, Any] = {"connection": database.url(), "providers": cloud.providers()}
        process.ask("prepare", **values)
        pids = process.ask("serve_http", port=port, workers=workers)
        assert database.pid is not None  # noqa: S101 - it is running
        yield PlacementSide(port, (*pids, database.pid))


@contextlib.contextmanager
def _database(flush: int) -> Iterator[MariadbServer]:
    def make(folder: Path) -> MariadbServer:
        return MariadbServer(folder, settings=[f"--innodb-flush-log-at-trx-commit={flush}"])

    with in_temporary_folder(make, MariadbServer.kill) as server:
        with defer_signals():
            server.start()
        yield server
