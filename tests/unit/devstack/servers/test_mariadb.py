# SPDX-License-Identifier: Apache-2.0
"""Program, address and arguments of a private MariaDB; nothing is started."""

import pytest

from devstack.servers import mariadb
from devstack.servers import server as programs
from devstack.servers.errors import BinaryMissing
from devstack.servers.mariadb import MariadbServer


def test_missing_server_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "SYSTEM_PATH", str(tmp_path))
    with pytest.raises(BinaryMissing, match="apt-get install mariadb-server-core"):
        mariadb.mariadb_binary()


def test_server_listens_on_its_socket_only(monkeypatch, tmp_path):
    program = tmp_path / "mariadbd"
    program.touch(mode=0o700)
    monkeypatch.setattr(programs, "SYSTEM_PATH", str(tmp_path))
    server = MariadbServer(tmp_path / "a b", settings=["--innodb-flush-log-at-trx-commit=1"])
    command = server._command()
    assert command[0] == str(program)
    assert "--skip-networking" in command and command[-1] == "--innodb-flush-log-at-trx-commit=1"
    assert server.url() == (
        f"mysql+pymysql://root@localhost/placement?unix_socket={tmp_path}/a%20b/mariadb.sock&charset=utf8mb4"
    )
