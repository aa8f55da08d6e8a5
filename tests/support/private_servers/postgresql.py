# SPDX-License-Identifier: Apache-2.0
"""Private PostgreSQL server in a run folder: on a Unix socket, and optionally on a loopback port."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from devstack.deploy.users.folder import private_folder, write_private
from devstack.servers.errors import BinaryMissing, ServerError
from devstack.servers.ports import LOOPBACK
from devstack.servers.process import poll, start_ticks
from devstack.servers.server import PrivateServer

PROGRAMS_ROOT = "/usr/lib/postgresql"  # Debian has one folder per version
USER = "gantt"
DATABASE = "gantt"
START_SECONDS = 60.0
INIT_SECONDS = 120.0
PARENT = 1  # field number in /proc/PID/stat, counted from the state
# Only the owner has access to the folder, and this access gives all rights.
INIT = ("--auth=trust", f"--username={USER}", "--no-sync", "--encoding=UTF8", "--locale=C")


def postgresql_programs() -> Path:
    """Return the program folder of the newest installed server. Raises BinaryMissing."""
    folders = [path.parent for path in Path(PROGRAMS_ROOT).glob("*/bin/postgres") if os.access(path, os.X_OK)]
    if not folders:
        raise BinaryMissing("No PostgreSQL server was found: install Debian's package (`apt-get install postgresql`).")
    return max(folders, key=lambda path: float(path.parent.name))


class PostgresqlServer(PrivateServer):
    """PostgreSQL server, optionally with a loopback ``port``; all files are in ``folder`` (mode 0700)."""

    def __init__(
        self, folder: Path, *, settings: Sequence[str] = (), port: int | None = None, name: str = "postgresql"
    ) -> None:
        super().__init__(folder, "postgresql", name)
        self.port = port
        self.settings = tuple(settings)
        self._data = self.folder / "data"

    def start(self) -> None:
        self._process.require_stopped()
        programs = postgresql_programs()
        private_folder(self.folder)
        is_new = not (self._data / "PG_VERSION").exists()
        if is_new:
            self._run([*_unprivileged(), str(programs / "initdb"), *INIT, f"--pgdata={self._data}"])
        write_private(self._data / "postgresql.auto.conf", self._configuration())
        command = [*_unprivileged(), str(programs / "postgres"), "-D", str(self._data)]
        self._process.spawn(command, dict(os.environ), self.folder)
        try:
            self._process.wait_ready(self._answers, START_SECONDS)
            if is_new:
                self._run([str(programs / "createdb"), *self._address(), DATABASE])
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Close all sessions, then stop the server after it has written its data."""
        self._process.signal(signal.SIGINT)
        super().stop()

    def kill(self) -> None:
        """Kill the server and its sessions, like a crash of the machine. Raises ServerError if one remains."""
        sessions = {session: start_ticks(session) for session in self.sessions()}
        self._process.kill()
        _signal(sessions, signal.SIGKILL)
        started = {session: ticks for session, ticks in sessions.items() if ticks is not None}
        if not poll(lambda: all(start_ticks(pid) != ticks for pid, ticks in started.items()), self.STOP_SECONDS):
            raise ServerError(f"Sessions of {self.name} did not end on SIGKILL; check what blocks them.")

    def pause(self) -> None:
        """Suspend the server, which starts no sessions meanwhile, and its sessions."""
        super().pause()
        _signal(self.sessions(), signal.SIGSTOP)

    def resume(self) -> None:
        _signal(self.sessions(), signal.SIGCONT)
        super().resume()

    def promote(self) -> None:
        self._run([*_unprivileged(), str(postgresql_programs() / "pg_ctl"), "promote", "-D", str(self._data), "-w"])

    def follow(self, primary: "PostgresqlServer") -> None:
        """Copy ``primary`` into this empty folder as its standby; `start` begins replication."""
        private_folder(self.folder)
        copy = ["--pgdata", str(self._data), "--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
        program = str(postgresql_programs() / "pg_basebackup")
        self._run([program, *primary._address(), *copy])
        standby = (self._data / "postgresql.auto.conf").read_text()
        self.settings = (*self.settings, *(line for line in standby.splitlines() if line.startswith("primary_")))

    def url(self, database: str = DATABASE) -> str:
        """Return a database's URL in the form of [store] url."""
        port = "" if self.port is None else f"&port={self.port}"  # the port is part of the socket's name
        return f"postgresql://{USER}@/{database}?host={quote(str(self.folder))}{port}"

    def _address(self) -> list[str]:
        port = [] if self.port is None else ["-p", str(self.port)]
        return ["-h", str(self.folder), "-U", USER, *port]

    def _answers(self) -> bool:
        command = [str(postgresql_programs() / "pg_isready"), "-q", *self._address(), "-d", "postgres"]
        return subprocess.run(command, check=False, timeout=START_SECONDS).returncode == 0

    def _run(self, command: Sequence[str]) -> None:
        completed = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=INIT_SECONDS, cwd=self.folder
        )
        if completed.returncode:
            raise ServerError(
                f"{command[0]} for {self.name} failed: {(completed.stderr or completed.stdout).strip()[-800:]}"
            )

    def sessions(self) -> list[int]:
        """Return the server's child processes, each of which leads its process group."""
        server = self.pid
        pids = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = path.read_text().rpartition(")")[2].split()
                if int(fields[PARENT]) == server and start_ticks(int(path.parent.name)) is not None:
                    pids.append(int(path.parent.name))
        return pids

    def _configuration(self) -> str:
        lines = [
            f"listen_addresses = '{LOOPBACK if self.port else ''}'",
            *([] if self.port is None else [f"port = {self.port}"]),
            f"unix_socket_directories = '{self.folder}'",
            "unix_socket_permissions = 0700",
            "max_connections = 100",
            "shared_buffers = 32MB",
            *self.settings,
        ]
        return "\n".join([*lines, ""])


def _signal(sessions: Iterable[int], number: int) -> None:
    for session in sessions:
        with contextlib.suppress(ProcessLookupError):
            os.kill(session, number)


def _unprivileged() -> list[str]:
    """Return a command prefix for root, which PostgreSQL refuses: a user namespace with an unprivileged user."""
    if os.geteuid() != 0:
        return []
    program = shutil.which("unshare")
    if program is None:
        raise BinaryMissing("PostgreSQL refuses to run as root, and there is no `unshare`: install util-linux.")
    return [program, "--user", "--map-user=65534", "--map-group=65534"]
