# SPDX-License-Identifier: Apache-2.0
"""A private MariaDB server in a run folder, on a Unix socket only."""

import os
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from devstack.servers.errors import BinaryMissing, ServerError
from devstack.servers.process import ServerProcess
from devstack.users.folder import private_folder

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
DATABASE = "placement"
START_SECONDS = 60.0
STOP_SECONDS = 30.0
INIT_SECONDS = 120.0
# Tables and rights of the server itself; without the test database and anonymous users.
BOOTSTRAP = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")
SCRIPTS = Path("/usr/share/mysql")


def mariadb_binary() -> str:
    """Return the path of the server; raises BinaryMissing."""
    program = shutil.which("mariadbd", path=SYSTEM_PATH)
    if program is None:
        raise BinaryMissing(
            "No MariaDB server was found: install Debian's package (`apt-get install mariadb-server-core`)."
        )
    return program


class MariadbServer:
    """A MariaDB server with empty `databases`; its data, socket and log are in `folder` (mode 0700).

    Access to the folder gives all rights; only its owner has it. `settings` are additional arguments.
    """

    def __init__(self, folder: Path, *, databases: Sequence[str] = (DATABASE,), settings: Sequence[str] = ()) -> None:
        self.folder = folder.absolute()
        self._databases = tuple(databases)
        self._settings = tuple(settings)
        self._data = self.folder / "data"
        self._socket = self.folder / "mariadb.sock"
        self._process = ServerProcess("mariadb", self.folder / "mariadb.pid", self.folder / "mariadb.log")

    @property
    def pid(self) -> int | None:
        """The server's process id, None when it is not running."""
        return self._process.pid

    def start(self) -> None:
        """Create the databases if they are missing, start, and return when the server answers.

        On ServerError nothing is left running.
        """
        self._process.require_stopped()
        private_folder(self.folder)
        private_folder(self.folder / "tmp")
        if not (self._data / "mysql").is_dir():
            private_folder(self._data)
            self._bootstrap()
        self._process.start(self._command(), self.folder, self._answers, START_SECONDS)

    def stop(self) -> None:
        """Stop the server after it has written its data; does nothing if it is not running."""
        self._process.stop(STOP_SECONDS)

    def kill(self) -> None:
        """Kill the server with SIGKILL."""
        self._process.kill()

    def url(self, database: str = DATABASE) -> str:
        """The address of a database for SQLAlchemy with PyMySQL."""
        return f"mysql+pymysql://root@localhost/{database}?unix_socket={quote(str(self._socket))}&charset=utf8mb4"

    def _command(self) -> list[str]:
        return [
            mariadb_binary(),
            "--no-defaults",
            f"--datadir={self._data}",
            f"--socket={self._socket}",
            # A server that starts deletes the temporary tables of all others that share its folder for them.
            f"--tmpdir={self.folder / 'tmp'}",
            "--skip-networking",
            "--skip-grant-tables",
            "--skip-log-bin",
            "--innodb-buffer-pool-size=256M",
            *(["--user=root"] if os.geteuid() == 0 else []),
            *self._settings,
        ]

    def _bootstrap(self) -> None:
        """Write the server's own tables, and the empty databases."""
        statements = ["CREATE DATABASE mysql;", "USE mysql;"]
        statements += [(SCRIPTS / name).read_text() for name in BOOTSTRAP]
        statements += [f"CREATE DATABASE {database} CHARACTER SET utf8mb4;\n" for database in self._databases]
        completed = subprocess.run(  # noqa: S603 - a fixed command
            [*self._command(), "--bootstrap"],
            input="\n".join(statements),
            capture_output=True,
            text=True,
            check=False,
            timeout=INIT_SECONDS,
            cwd=self.folder,
        )
        if completed.returncode:
            raise ServerError(f"The database of MariaDB cannot be created: {completed.stderr.strip()[-800:]}")

    def _answers(self) -> bool:
        """Return whether the server greets a connection."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(1)
                connection.connect(str(self._socket))
                return bool(connection.recv(1))
        except OSError:
            return False
