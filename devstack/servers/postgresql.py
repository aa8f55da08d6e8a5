# SPDX-License-Identifier: Apache-2.0
"""A private PostgreSQL server in a run folder, on a Unix socket only."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from devstack.servers.errors import BinaryMissing, ServerError
from devstack.servers.folder import private_folder, write_private
from devstack.servers.process import ServerProcess, start_ticks

PLACES = "/usr/lib/postgresql"  # Debian keeps each version's programs in a folder of its own
USER = "gantt"
DATABASE = "gantt"
START_SECONDS = 60.0
STOP_SECONDS = 30.0
INIT_SECONDS = 120.0
PARENT = 1  # field of /proc/PID/stat after the command's name and the state
# Who may open the folder may do everything; nobody else can open it.
INIT = ("--auth=trust", f"--username={USER}", "--no-sync", "--encoding=UTF8", "--locale=C")


def postgresql_programs() -> Path:
    """Return the folder with the programs of the newest PostgreSQL server here; raises BinaryMissing."""
    found = [path.parent for path in Path(PLACES).glob("*/bin/postgres") if os.access(path, os.X_OK)]
    if not found:
        raise BinaryMissing("No PostgreSQL server was found: install Debian's package (`apt-get install postgresql`).")
    return max(found, key=lambda path: float(path.parent.name))


class PostgresqlServer:
    """A PostgreSQL server whose configuration, data, socket and log lie in `folder` (mode 0700).

    `settings` are more lines of its configuration.
    """

    def __init__(self, folder: Path, *, settings: Sequence[str] = (), name: str = "postgresql") -> None:
        self.folder = folder.absolute()
        self.settings = tuple(settings)
        self.name = name
        self._data = self.folder / "data"
        self._process = ServerProcess(name, self.folder / "postgresql.pid", self.folder / "postgresql.log")

    @property
    def pid(self) -> int | None:
        """The server's process id, None when it is not running."""
        return self._process.pid

    def start(self) -> None:
        """Make the database when there is none yet, start, and return when it answers.

        Raises ServerError, and then leaves nothing running.
        """
        self._process.require_stopped()
        programs = postgresql_programs()
        private_folder(self.folder)
        is_new = not (self._data / "PG_VERSION").exists()
        if is_new:
            self._run([*_as_somebody(), str(programs / "initdb"), *INIT, f"--pgdata={self._data}"])
        write_private(self._data / "postgresql.auto.conf", self._configuration())
        command = [*_as_somebody(), str(programs / "postgres"), "-D", str(self._data)]
        self._process.spawn(command, dict(os.environ), self.folder)
        try:
            self._process.wait_ready(self._answers, START_SECONDS)
            if is_new:
                self._run([str(programs / "createdb"), *self._address(), DATABASE])
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """End all sessions, let the server write what it owes and end; nothing happens when it is not running."""
        self._process.signal(signal.SIGINT)
        self._process.stop(STOP_SECONDS)

    def kill(self) -> None:
        """End the server with SIGKILL, its sessions too, as the machine's death does."""
        sessions = self.sessions()
        self._process.kill()
        for session in sessions:
            with contextlib.suppress(ProcessLookupError):
                os.kill(session, signal.SIGKILL)

    def promote(self) -> None:
        """Make a standby the primary."""
        self._run([*_as_somebody(), str(postgresql_programs() / "pg_ctl"), "promote", "-D", str(self._data), "-w"])

    def follow(self, primary: "PostgresqlServer") -> None:
        """Copy `primary` into this folder, which is empty yet, as its standby; `start` lets it follow."""
        private_folder(self.folder)
        copy = ["--pgdata", str(self._data), "--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
        program = str(postgresql_programs() / "pg_basebackup")
        self._run([program, *primary._address(), *copy])
        standby = (self._data / "postgresql.auto.conf").read_text()
        self.settings = (*self.settings, *(line for line in standby.splitlines() if line.startswith("primary_")))

    def url(self) -> str:
        """The address as [store] url takes it."""
        return f"postgresql://{USER}@/{DATABASE}?host={quote(str(self.folder))}"

    def _address(self) -> list[str]:
        return ["-h", str(self.folder), "-U", USER]

    def _answers(self) -> bool:
        asked = [str(postgresql_programs() / "pg_isready"), "-q", *self._address(), "-d", "postgres"]
        return subprocess.run(asked, check=False, timeout=START_SECONDS).returncode == 0  # noqa: S603 - our own command

    def _run(self, command: Sequence[str]) -> None:
        done = subprocess.run(  # noqa: S603 - our own command
            command, capture_output=True, text=True, check=False, timeout=INIT_SECONDS, cwd=self.folder
        )
        if done.returncode:
            raise ServerError(f"{command[0]} for {self.name} failed: {(done.stderr or done.stdout).strip()[-800:]}")

    def sessions(self) -> list[int]:
        """The server's own processes: each leads a group of its own."""
        server = self.pid
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = path.read_text().rpartition(")")[2].split()
                if int(fields[PARENT]) == server and start_ticks(int(path.parent.name)) is not None:
                    found.append(int(path.parent.name))
        return found

    def _configuration(self) -> str:
        lines = [
            "listen_addresses = ''",
            f"unix_socket_directories = '{self.folder}'",
            "unix_socket_permissions = 0700",
            "max_connections = 100",
            "shared_buffers = 32MB",
            *self.settings,
        ]
        return "\n".join([*lines, ""])


def _as_somebody() -> list[str]:
    """How root runs what refuses root: as another user by its own view, and with the folder's owner outside it."""
    if os.geteuid() != 0:
        return []
    program = shutil.which("unshare")
    if program is None:
        raise BinaryMissing("PostgreSQL refuses to run as root, and there is no `unshare`: install util-linux.")
    return [program, "--user", "--map-user=65534", "--map-group=65534"]
