# SPDX-License-Identifier: Apache-2.0
"""Running gantt-placements of one deployment, one for each configuration that the suite's files need."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from devstack.servers.ports import free_port
from scheduler_svc.placement.http import policies
from tests.support.clusters.waiting import wait_until
from tests.support.placement.client import PlacementClient
from tests.support.placement.files import CONFIGURATIONS, OPEN
from tests.support.run_folders import claim_folder, release_folder

STOP_SECONDS = 60

Options = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Deployment:
    """A store by the scheme of its URL, and the processes of each gantt-placement over it."""

    store: str
    workers: int


DEPLOYMENTS = {
    "redis": Deployment("redis", 2),
    "sqlite": Deployment("sqlite", 2),
    "memory": Deployment("memory", 1),
}


class Servers:
    """Starts a server when its configuration is first used; each has an empty partition of its own."""

    def __init__(self, deployment: Deployment, redis_url: str) -> None:
        self._deployment = deployment
        self._redis_url = redis_url
        self._ports: dict[str, int] = {}
        self._stack = contextlib.ExitStack()

    def port(self, configuration: str) -> int:
        """Return the port of the server with this configuration, one of CONFIGURATIONS."""
        if configuration not in self._ports:
            server = self.running(CONFIGURATIONS[configuration], is_open=configuration in OPEN)
            self._ports[configuration] = self._stack.enter_context(server)
        return self._ports[configuration]

    def stop(self) -> None:
        """Stop all servers; raises AssertionError where one did not end well, or logged a traceback."""
        self._stack.close()

    @contextlib.contextmanager
    def running(self, options: Options, *, is_open: bool = False) -> Iterator[int]:
        """Run a server with these options; yield its port. Its end is judged as by ``stop``."""
        folder, port = claim_folder(), free_port()
        conf, log_path = folder / "placement.conf", folder / "placement.log"
        conf.write_text(_text(self._base(folder, port), options), encoding="utf-8")
        if is_open:
            (folder / policies.DEFAULT_FILE).write_text(_open_policy(), encoding="utf-8")
        with log_path.open("wb") as log:
            command = [sys.executable, "-m", "scheduler_svc.cmd.placement", "--config-file", str(conf)]
            daemon = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        workers = self._deployment.workers
        try:
            wait_until(
                lambda: log_path.read_text().count(" serves http") == workers or daemon.poll() is not None,
                "the start of gantt-placement",
            )
            assert daemon.poll() is None, log_path.read_text()
            assert PlacementClient(port).call("GET", "/")[0] == 200
            yield port
        finally:
            daemon.send_signal(signal.SIGTERM)
            status = daemon.wait(STOP_SECONDS)
        assert status == 0, log_path.read_text()
        assert "Traceback" not in log_path.read_text()
        release_folder(folder)

    def _base(self, folder: Path, port: int) -> Options:
        urls = {
            "redis": self._redis_url,
            "sqlite": f"sqlite:///{folder}/store.sqlite",
            "memory": "memory://",
        }
        return {
            "rpc": {"partition": f"placement{port}"},
            "store": {"url": urls[self._deployment.store]},
            "api": {"auth_strategy": "noauth2"},
            "placement": {"port": str(port), "workers": str(self._deployment.workers)},
        }


def _open_policy() -> str:
    """Return a policy file with which each rule but the administrators' own allows everybody."""
    return "".join(f'"{rule.name}": "@"\n' for rule in policies.rules() if rule.name != "admin_api")


def _text(*parts: Options) -> str:
    """Return a configuration file; of one option the last value counts."""
    groups: dict[str, dict[str, str]] = {}
    for part in parts:
        for group, options in part.items():
            groups.setdefault(group, {}).update(options)
    lines: list[str] = []
    for group, options in groups.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in options.items())]
    return "\n".join([*lines, ""])
