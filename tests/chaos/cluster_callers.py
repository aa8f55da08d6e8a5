# SPDX-License-Identifier: Apache-2.0
"""Users and operators of a whole cluster: each asks for one kind of change until it is done, whatever others change."""

import abc
import collections
import contextlib
import functools
import json
import subprocess
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from rpcapi import errors, objects
from rpcapi.admin import waiting
from rpcapi.admin.session import Session
from rpcapi.resources.names import host_of
from rpcapi.resources.statuses import ENDED_MIGRATIONS
from tests.support.clusters import commands

TINY = objects.RequestSpec.of(flavor="tiny", resources={"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 1})
LARGE = objects.RequestSpec.of(flavor="large", resources={"VCPU": 2, "MEMORY_MB": 128, "DISK_GB": 1})
POLL = 0.2
BATCH = 10
# Without progress for so long, a caller gives up: more than any time-out of the services.
GIVE_UP_SECONDS = 300.0


class Stuck(AssertionError):
    """Raised when a caller gets no further."""


class Patience:
    """Raises Stuck when nothing has changed for GIVE_UP_SECONDS."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._state: Any = None
        self._deadline = 0.0

    def wait(self, state: Any) -> None:
        """Wait a moment, unless ``state`` has been the same for too long."""
        if state != self._state:
            self._state, self._deadline = state, time.monotonic() + GIVE_UP_SECONDS
        if time.monotonic() > self._deadline:
            raise Stuck(f"{self._what}: {state}")
        time.sleep(POLL)


class Refusals:
    """How often requests were refused, by kind and error: another change was under way, or the host was up yet."""

    EXPECTED = (errors.InstanceConflict, errors.HostIsUp)

    def __init__(self) -> None:
        self.counts: collections.Counter[str] = collections.Counter()

    @contextlib.contextmanager
    def accounted(self, kind: str) -> Iterator[None]:
        """Count an expected refusal of the request; any other error is raised."""
        try:
            yield
        except self.EXPECTED as refusal:
            self.counts[f"{kind}: {type(refusal).__name__}"] += 1


class Caller(abc.ABC):
    """A user or operator with a connection of its own."""

    def __init__(self, client_conf: Path, refusals: Refusals) -> None:
        self._conf = client_conf
        self._refusals = refusals
        self._session = Session([str(client_conf)])

    def run(self) -> None:
        """Ask until everything is done; raises Stuck."""
        with contextlib.closing(self._session):
            self._act()

    @abc.abstractmethod
    def _act(self) -> None: ...

    def _call(self, method: str, *arguments: Any) -> Any:
        self._session.new_request()
        return self._session.call(getattr(self._session.conductor, method), *arguments)

    def _gantt(self, *arguments: str) -> tuple[int, Any]:
        return run_gantt(self._conf, *arguments)


class Booter(Caller):
    """Boots servers, and deletes the first of each batch while it is built."""

    def __init__(self, client_conf: Path, refusals: Refusals, batches: Sequence[int], deletes: int) -> None:
        super().__init__(client_conf, refusals)
        self._batches = batches
        self._deletes = deletes
        self.booted: set[str] = set()
        self.deleted: set[str] = set()

    def _act(self) -> None:
        for number, count in enumerate(self._batches):
            uuids = [str(uuid.uuid4()) for _ in range(count)]
            self._call("build_instances", TINY, uuids)
            self.booted |= set(uuids)
            share = self._deletes * (number + 1) // len(self._batches) - len(self.deleted)
            if share:
                self._call("delete_instances", uuids[:share])
                self.deleted |= set(uuids[:share])


class Deleter(Caller):
    """Deletes servers, a few at a time."""

    def __init__(self, client_conf: Path, refusals: Refusals, uuids: Sequence[str]) -> None:
        super().__init__(client_conf, refusals)
        self._uuids = uuids

    def _act(self) -> None:
        for start in range(0, len(self._uuids), BATCH):
            self._call("delete_instances", list(self._uuids[start : start + BATCH]))


class Mover(Caller):
    """Moves each of its servers, until a move of it has ended as requested."""

    KIND = ""

    def __init__(self, client_conf: Path, refusals: Refusals, uuids: Sequence[str]) -> None:
        super().__init__(client_conf, refusals)
        self._uuids = uuids
        self._migrations: dict[str, str] = {}  # the last that was accepted, by server

    def _act(self) -> None:
        pending, patience = list(self._uuids), Patience(self.KIND)
        while pending:
            servers = {server.uuid: server for server in waiting.fetch_instances(self._session, pending)}
            moves = self._moves(pending)
            for server in servers.values():
                self._advance(server, moves.get(server.uuid))
            pending = [uuid for uuid in pending if not self._is_done(moves.get(uuid))]
            patience.wait(sorted((uuid, servers[uuid].status, servers[uuid].reason or "") for uuid in pending))

    def _advance(self, server: Any, move: Any) -> None:
        """Do what is to be done next for a server and its last migration."""
        if server.status == "ACTIVE" and (move is None or move.status in ENDED_MIGRATIONS) and not self._is_done(move):
            migration = str(uuid.uuid4())
            with self._refusals.accounted(self.KIND):
                self._request(server.uuid, migration)
                self._migrations[server.uuid] = migration

    def _moves(self, uuids: Collection[str]) -> dict[str, Any]:
        requested = [self._migrations[uuid] for uuid in uuids if uuid in self._migrations]
        if not requested:
            return {}
        return {migration.instance: migration for migration in self._call("get_migrations", requested).migrations}

    @staticmethod
    def _is_done(move: Any) -> bool:
        return move is not None and move.status in ("completed", "confirmed")

    @abc.abstractmethod
    def _request(self, server: str, migration: str) -> None: ...


class LiveMigrater(Mover):
    """Migrates servers live."""

    KIND = "live-migration"

    def _request(self, server: str, migration: str) -> None:
        self._call("live_migrate_instances", [server], [migration])


class Resizer(Mover):
    """Resizes servers, and confirms that."""

    KIND = "resize"

    def _request(self, server: str, migration: str) -> None:
        self._call("resize_instances", [server], [migration], LARGE)

    def _advance(self, server: Any, move: Any) -> None:
        super()._advance(server, move)
        if move is not None and move.status == "finished":
            with self._refusals.accounted("confirm"):
                self._call("confirm_migrations", [move.uuid])


class Drainer(Caller):
    """Drains a host."""

    def __init__(self, client_conf: Path, refusals: Refusals, host: str) -> None:
        super().__init__(client_conf, refusals)
        self._host = host

    def _act(self) -> None:
        repeat(functools.partial(self._gantt, "host", "drain", self._host, "-f", "json"), f"drain of {self._host}")


class Evacuator(Caller):
    """Fences hosts that are dead, and evacuates them."""

    def __init__(self, client_conf: Path, refusals: Refusals, hosts: Sequence[str]) -> None:
        super().__init__(client_conf, refusals)
        self._hosts = hosts

    def _act(self) -> None:
        for host in self._hosts:
            self._fence(host)
        for host in self._hosts:
            repeat(functools.partial(self._gantt, "host", "evacuate", host, "-f", "json"), f"evacuation of {host}")

    def _fence(self, host: str) -> None:
        patience = Patience(f"{host} is dead")
        while self._service(host).get("alive"):
            patience.wait(host)
        if self._service(host).get("audited"):
            code, message = self._gantt("host", "fence", host, "--yes")
            assert code == 0, message

    def _service(self, host: str) -> dict[str, Any]:
        return self._session.call(self._session.scheduler.get_host_state, "service", host).document


def repeat(command: Callable[[], tuple[int, Any]], what: str) -> None:
    """Run a command until it leaves nothing: what was changed by others meanwhile was refused."""
    patience = Patience(what)
    while (outcome := command())[0] != 0:
        patience.wait(outcome)


def run_gantt(client_conf: Path, *arguments: str) -> tuple[int, Any]:
    """Run the operator's command; return its exit code, and its output from JSON, or its message."""
    command = [*commands.gantt(), "--config-file", str(client_conf)]
    result = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=600, check=False)
    return result.returncode, json.loads(result.stdout) if result.stdout else result.stderr


def hosts_of(servers: Collection[Any]) -> set[str]:
    """Return the service hosts of servers."""
    return {host_of(server.host) for server in servers}
