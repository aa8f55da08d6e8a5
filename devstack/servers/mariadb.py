# SPDX-License-Identifier: Apache-2.0
"""Private MariaDB server in a run folder, on a Unix socket only."""

import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from devstack.deploy.users.folder import private_folder
from devstack.servers.errors import ServerError
from devstack.servers.server import PrivateServer, find_program

DATABASE = "placement"
START_SECONDS = 60.0
INIT_SECONDS = 120.0
# The server's own tables and rights, without test database and anonymous users.
BOOTSTRAP = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")
SCRIPTS = Path("/usr/share/mysql")


def mariadb_binary() -> str:
    return find_program("mariadbd", "mariadb-server-core", "MariaDB server")


class MariadbServer(PrivateServer):
    """MariaDB server with empty ``databases``. Access to its ``folder`` (mode 0700) gives all rights."""

    def __init__(self, folder: Path, *, databases: Sequence[str] = (DATABASE,), settings: Sequence[str] = ()) -> None:
        super().__init__(folder, "mariadb", "mariadb")
        self._databases = tuple(databases)
        self._settings = tuple(settings)
        self._data = self.folder / "data"
        self._socket = self.folder / "mariadb.sock"

    def start(self) -> None:
        self._process.require_stopped()
        private_folder(self.folder)
        private_folder(self.folder / "tmp")
        if not (self._data / "mysql").is_dir():
            private_folder(self._data)
            self._bootstrap()
        self._process.start(self._command(), self.folder, self._answers, START_SECONDS)

    def url(self, database: str = DATABASE) -> str:
        return f"mysql+pymysql://root@localhost/{database}?unix_socket={quote(str(self._socket))}&charset=utf8mb4"

    def _command(self) -> list[str]:
        return [
            mariadb_binary(),
            "--no-defaults",
            f"--datadir={self._data}",
            f"--socket={self._socket}",
            # A starting server deletes the temporary tables of all servers in its --tmpdir.
            f"--tmpdir={self.folder / 'tmp'}",
            "--skip-networking",
            "--skip-grant-tables",
            "--skip-log-bin",
            "--innodb-buffer-pool-size=256M",
            *(["--user=root"] if os.geteuid() == 0 else []),
            *self._settings,
        ]

    def _bootstrap(self) -> None:
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
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(1)
                connection.connect(str(self._socket))
                return bool(connection.recv(1))
        except OSError:
            return False
