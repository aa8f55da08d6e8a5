# SPDX-License-Identifier: Apache-2.0
"""Runs the toy daemon as a process in a temporary folder, and stops it."""

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from oslo_config import cfg

from rpcapi.daemon import logs

ROOT = Path(__file__).parents[4]
TIMEOUT_SECONDS = 50.0


def eventually(condition: Callable[[], object], description: str) -> object:
    """Return the first true result of ``condition``; fail with ``description`` on timeout."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"Timed out waiting for: {description}")


class ToyDaemon:
    """One run of the toy daemon: process, log, events and notifications to the service manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.conf = folder / "toy.conf"
        self.log = folder / "log"
        self.process: subprocess.Popen[bytes] | None = None
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(str(folder / "notify"))
        self.manager.setblocking(False)
        self.notifications: list[str] = []

    def configure(self, default: str = "", metrics: str = "", **toy: object) -> None:
        lines = "\n".join(f"{key} = {value}" for key, value in toy.items())
        self.conf.write_text(f"[DEFAULT]\n{default}\n[toy]\nfolder = {self.folder}\n{lines}\n[metrics]\n{metrics}\n")

    def start(self, *argv: str, **environment: str) -> None:
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.unit.rpcapi.daemon.toy", *(argv or ("--config-file", str(self.conf)))],
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env={
                    **os.environ,
                    "PYTHONPATH": str(ROOT),
                    "PYTHONWARNINGS": "ignore",
                    "TMPDIR": str(self.folder),
                    "NOTIFY_SOCKET": str(self.folder / "notify"),
                    **environment,
                },
                start_new_session=True,
            )

    def begin(self, workers: int = 1, executor: str = "threading", default: str = "", **toy: object) -> None:
        """Configure, start, and wait for READY."""
        metrics = str(toy.pop("metrics", ""))
        self.configure(f"executor = {executor}\n{default}", metrics, workers=workers, **toy)
        self.start()
        self.await_notification("READY=1")

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def events(self, kind: str = "") -> list[tuple[str, int, int, str]]:
        with contextlib.suppress(FileNotFoundError):
            rows = [line.split() for line in (self.folder / "events").read_text().splitlines()]
            return [(e, int(i), int(p), g) for e, i, p, g in rows if kind in ("", e)]
        return []

    def await_events(self, kind: str, count: int) -> list[tuple[str, int, int, str]]:
        try:
            eventually(lambda: len(self.events(kind)) >= count, f"{count} events '{kind}'")
        except AssertionError as why:
            raise AssertionError(f"{why}; log:\n{self.text()}") from None
        return self.events(kind)

    def listen(self) -> list[str]:
        with contextlib.suppress(BlockingIOError):
            while True:
                self.notifications += self.manager.recv(4096).decode().splitlines()
        return self.notifications

    def await_notification(self, line: str, count: int = 1) -> None:
        eventually(lambda: self.listen().count(line) >= count or self.has_ended(), f"'{line}' in {self.notifications}")
        assert self.listen().count(line) >= count, f"the daemon ended before '{line}':\n{self.text()}"

    def has_ended(self) -> bool:
        assert self.process is not None
        return self.process.poll() is not None

    def signal(self, signo: signal.Signals) -> None:
        os.kill(self.pid, signo)

    def exit_status(self) -> int:
        assert self.process is not None
        return self.process.wait(TIMEOUT_SECONDS)

    def text(self) -> str:
        return self.log.read_text()

    def end(self) -> None:
        """Kill all remaining processes of the session that start() opened."""
        self.manager.close()
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[ToyDaemon]:
    daemon = ToyDaemon(tmp_path)
    yield daemon
    daemon.end()


@pytest.fixture(params=["eventlet", "threading"])
def executor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def log_file(tmp_path: Path) -> Iterator[Path]:
    """Set up logging from options; restores all loggers afterwards, libraries' levels included."""
    root = logging.getLogger()
    handlers, level, formatters = root.handlers[:], root.level, [h.formatter for h in root.handlers]
    conf = cfg.ConfigOpts()
    logs.register_opts(conf)
    conf([], project="gantt", default_config_files=[])
    libraries = [logging.getLogger(entry.partition("=")[0]) for entry in conf.default_log_levels]
    levels = [library.level for library in libraries]
    conf.set_override("log_file", str(tmp_path / "gantt.log"))
    logs.setup(conf, "gantt-toy", "1")
    yield tmp_path / "gantt.log"
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    for handler, formatter in zip(handlers, formatters, strict=True):
        root.addHandler(handler)
        handler.setFormatter(formatter)
    root.setLevel(level)
    for library, before in zip(libraries, levels, strict=True):
        library.setLevel(before)
