# SPDX-License-Identifier: Apache-2.0
"""Hosts that lose their power: their guests end, and their servers are evacuated once they are fenced."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from devstack.lab.chaos.faults import processes
from devstack.lab.chaos.faults.fault import Fault
from rpcapi import errors

(HOSTS_LOST,) = (kind for kind in processes.FAULTS if kind.name == "hosts lost and evacuated")


class Cluster:
    """Two hosts of one agent; ``events`` are what was done to its daemon."""

    programs = {"compute-0": "compute"}  # noqa: RUF012

    def __init__(self, folder: Path) -> None:
        self.folder, self.history_file, self.client_conf = folder, folder / "history", folder / "conf"
        self.without_power: set[str] = set()
        self.events: list[str] = []
        for host in ("h1", "h2"):
            (folder / host / "guests").mkdir(parents=True)
            (folder / host / "journal").touch()
            (folder / host / "guests" / f"on-{host}.json").touch()

    def state_folder(self, _name: str) -> Path:
        return self.folder

    def partition_of(self, _name: str) -> str:
        return "default"

    def kill_daemon(self, name: str) -> None:
        self.events.append(f"killed {name}")

    def revive(self) -> None:
        self.events.append(f"revived all but {sorted(self.without_power)}")


class Operator:
    """An operator whose first fence is refused, because the host counts as up."""

    def __init__(self, *_arguments: object) -> None:
        self.changes: list[tuple[str, list[str]]] = []
        self.fences: list[tuple[str, str]] = []
        statuses = {"a": ("h1/n", "ACTIVE"), "b": ("h2/n", "ERROR"), "c": ("h2/n", "DELETING"), "d": ("h3/n", "ACTIVE")}
        servers = [SimpleNamespace(uuid=uuid, host=host, status=status) for uuid, (host, status) in statuses.items()]
        conductor = SimpleNamespace(list_instances=None)
        self.session = SimpleNamespace(
            claims_of=lambda _partition: self,
            call=lambda method, *values: method(*values),
            list_all=lambda _method, _what: servers,
            conductor=conductor,
        )

    def fence_host(self, host: str, token: str) -> None:
        self.fences.append((host, token))
        if len(self.fences) == 1:
            raise errors.HostIsUp(host=host)

    def change(self, verb: str, uuids: list[str], _give_up: Any, migrations: dict[str, str]) -> None:
        assert list(migrations) == uuids
        self.changes.append((verb, uuids))

    def close(self) -> None:
        pass


def test_guests_end_and_servers_are_evacuated_before_the_hosts_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = Operator()
    monkeypatch.setattr(processes, "HistoryCaller", lambda *_arguments: operator)
    monkeypatch.setattr(processes, "PAUSE", 0.0)
    cluster: Any = Cluster(tmp_path)
    fault = Fault(HOSTS_LOST, cluster, random.Random(1))
    assert fault.inject() == "compute-0"
    assert list(fault.lost_hosts) == ["h1", "h2"]
    assert (cluster.without_power, list(tmp_path.glob("*/guests/*"))) == ({"compute-0"}, [])
    assert fault.heal()
    # A fence that is repeated is the same fence
    assert [host for host, _token in operator.fences] == ["h1", "h1", "h2"]
    assert operator.fences[0] == operator.fences[1]
    assert operator.changes == [("evacuate", ["a"]), ("evacuate", ["b"])]
    assert cluster.events == ["killed compute-0", "revived all but []"]


def test_hosts_that_cannot_be_fenced_return_with_their_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = Operator()
    monkeypatch.setattr(processes, "HistoryCaller", lambda *_arguments: operator)
    monkeypatch.setattr(processes, "FENCE_SECONDS", 0.0)
    cluster: Any = Cluster(tmp_path)
    fault = Fault(HOSTS_LOST, cluster, random.Random(1))
    fault.inject()
    assert not fault.heal()
    assert operator.changes == []
    assert cluster.events[-1] == "revived all but []"
