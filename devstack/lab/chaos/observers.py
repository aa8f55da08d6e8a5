# SPDX-License-Identifier: Apache-2.0
"""Observers that record what services do not report: guests on disk, writes of claims in Redis."""

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import redis

from devstack.lab.chaos.claim_model import SOURCE
from devstack.lab.chaos.final_state import Allocations, GuestFile
from devstack.lab.chaos.history import HistoryWriter
from devstack.lab.chaos.stored_state import host_folders, read_guest
from devstack.servers.redis import RedisServer
from scheduler_svc.store.tombstones import state_of

SCAN_SECONDS = 0.05
RETRY_SECONDS = 0.2
COARSE_NS = 100_000_000  # two changes within this time may leave the same modification time


Running = dict[str, tuple[int, GuestFile]]  # inode and guest by file name; each change creates a new inode


class GuestObserver:
    """Poller of the guest files of all service hosts."""

    def __init__(self, state_folders: Sequence[Path], history: HistoryWriter) -> None:
        self._state_folders = state_folders
        self._history = history
        self._running: dict[Path, Running] = {}
        self._unchanged: dict[Path, int] = {}  # modification time in ns of each folder whose last change is recorded
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self.scan()

    def scan(self) -> None:
        for state_folder in self._state_folders:
            for folder in host_folders(state_folder):
                self._scan_host(folder)

    def _run(self) -> None:
        while not self._stop.wait(SCAN_SECONDS):
            self.scan()

    def _scan_host(self, folder: Path) -> None:
        modified_ns = _modified_ns(folder / "guests")
        if modified_ns == self._unchanged.get(folder):
            return
        is_settled = time.time_ns() > modified_ns + COARSE_NS
        before, now = self._running.get(folder, {}), dict(_files(folder / "guests"))
        running: Running = {}
        for name, inode in now.items():
            if name in before and before[name][0] == inode:
                running[name] = before[name]
                continue
            guest = _read(folder, name)
            if guest is not None:
                running[name] = inode, guest
        self._running[folder] = running
        if is_settled and len(running) == len(now):
            self._unchanged[folder] = modified_ns
        for name, entry in before.items():
            if running.get(name) != entry:
                self._record(entry[1], True, ())
        for name, entry in running.items():
            if before.get(name) != entry:
                self._record(entry[1], False, list(self._copies(folder, name)))

    def _copies(self, folder: Path, name: str) -> Iterator[str]:
        """Yield the other running guests of a running instance, reading their files after this one."""
        _, guest = self._running[folder][name]
        if not guest.is_running:
            return
        for other, files in self._running.items():
            copies = [key for key, (_, file) in files.items() if file.uuid == guest.uuid]
            for key in copies:
                copy = _read(other, key) if (other, key) != (folder, name) else None
                if copy is not None and copy.is_running:
                    yield f"attempt {copy.attempt} on {copy.host}"

    def _record(self, guest: GuestFile, ended: bool, others: Sequence[str]) -> None:
        self._history.sighting(
            "guest", host=guest.host, uuid=guest.uuid, attempt=guest.attempt, ended=ended, others=list(others)
        )


def _modified_ns(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".json") and not entry.name.startswith("."):
                    yield entry.name.removesuffix(".json"), entry.inode()
    except FileNotFoundError:
        return


def _read(folder: Path, name: str) -> GuestFile | None:
    with contextlib.suppress(ValueError):
        return read_guest(folder / "guests" / f"{name}.json")
    return None


class ClaimObserver:
    """Recorder of the claim writes of one server's scripts, from MONITOR; replicated writes are skipped."""

    def __init__(self, server: RedisServer, partition: str, history: HistoryWriter) -> None:
        self._server = server
        self._partition = partition
        self._prefix = f"gantt:{{p:{partition}}}:"
        self._history = history
        self._claims: dict[tuple[str, int], str] = {}
        self._ends: dict[str, dict[str, str]] = {}
        self._capacity: dict[str, dict[str, Any]] = {}
        self._used: dict[str, dict[str, int]] = {}
        self._states: list[str] = []  # states of the claims that the current script wrote so far
        self._sums: dict[str, dict[str, int]] = {}  # sums by provider that the current script wrote so far
        self._at = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def apply(self, command: str, at: float) -> None:
        """Record the changes of a script's command as printed by MONITOR; ``at`` is the server's time."""
        self._at = at
        words = _words(command)
        if len(words) < 3 or words[0].upper() != "HSET" or not words[1].startswith(self._prefix):
            return
        key, fields = words[1].removeprefix(self._prefix), dict(zip(words[2::2], words[3::2], strict=True))
        if key == "claims":
            for text in fields.values():
                claim = json.loads(text)
                self._states.append(claim["state"])
                self._claim(claim)
        elif key == "ended":
            for consumer, text in fields.items():
                self._end(consumer, json.loads(text))
        elif key == "meta" and "epoch" in fields:
            self._begin_epoch(int(float(fields["epoch"])), at)
        elif key == "capacity":
            self._capacity |= {provider: json.loads(text) for provider, text in fields.items()}
        elif key == "used":
            self._sums |= {provider: json.loads(text) for provider, text in fields.items()}

    def end_script(self) -> None:
        for provider, used in self._sums.items():
            self._use(provider, used)
        self._sums.clear()
        self._states.clear()

    def _begin_epoch(self, epoch: int, at: float) -> None:
        self._claims.clear()
        self._ends.clear()
        self._used.clear()
        self._sighting(at=at, epoch=epoch)

    def _claim(self, claim: dict[str, Any]) -> None:
        instance = claim.get("instance")
        identity = instance or claim["consumer"], int(claim["attempt"])
        state = SOURCE if instance and claim["state"] == "confirmed" else claim["state"]
        if self._claims.get(identity) != state:
            self._claims[identity] = state
            self._record(*identity, state, claim["host"], claim["allocations"])

    def _end(self, consumer: str, ends: dict[str, str]) -> None:
        previous_ends = self._ends.setdefault(consumer, {})
        for attempt, tombstone in ends.items():
            end = state_of(tombstone)
            if attempt.isdigit() and previous_ends.get(attempt) != end:
                previous_ends[attempt] = end
                self._record(consumer, int(attempt), end, "", {})
                self._claims.pop((consumer, int(attempt)), None)

    def _use(self, provider: str, used: dict[str, int]) -> None:
        previous, self._used[provider] = self._used.get(provider, {}), used
        for resource_class, amount in used.items():
            unit = self._capacity.get(provider, {}).get(resource_class)
            limit = unit[0] if isinstance(unit, list) else unit
            before = previous.get(resource_class, 0)
            if limit is not None and amount > max(limit, before):
                self._history.sighting(
                    "use",
                    at=self._at,
                    partition=self._partition,
                    provider=provider,
                    resource_class=resource_class,
                    used=amount,
                    capacity=limit,
                    before=before,
                    states=sorted(set(self._states)),
                )

    def _record(self, consumer: str, attempt: int, state: str, host: str, allocations: Allocations) -> None:
        self._sighting(at=self._at, consumer=consumer, attempt=attempt, state=state, host=host, allocations=allocations)

    def _sighting(self, **values: Any) -> None:
        self._history.sighting("claim", partition=self._partition, server=self._server.folder.name, **values)

    def _catch_up(self, began_at: float) -> None:
        """Read the capacity and the epoch that were written before MONITOR started."""
        with self._server.client() as client:
            for provider, text in client.hgetall(self._prefix + "capacity").items():
                self._capacity[str(provider)] = json.loads(text)
            role = client.info("replication")["role"]
            epoch = client.hget(self._prefix + "meta", "epoch")
        if role == "master" and epoch is not None:
            self._begin_epoch(int(float(epoch)), began_at)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._server.client() as client:
                    seconds, micros = client.time()
                with self._server.client() as client, client.monitor() as monitor:
                    self._catch_up(seconds + micros / 1e6)
                    while not self._stop.is_set():
                        line = str(monitor.connection.read_response())
                        head, is_script, command = line.partition(" lua] ")
                        if is_script:
                            self.apply(command, float(head.partition(" ")[0]))
                        else:  # EVALSHA itself, before or after its commands
                            self.end_script()
            except (redis.RedisError, OSError):
                self._stop.wait(RETRY_SECONDS)


def _words(command: str) -> list[str]:
    if '"' not in command:
        return []
    return [_unescape(word) for word in command[1:-1].split('" "')]


def _unescape(word: str) -> str:
    return word.replace('\\"', '"').replace("\\\\", "\\")
