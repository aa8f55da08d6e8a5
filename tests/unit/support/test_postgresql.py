# SPDX-License-Identifier: Apache-2.0
"""Programs, address and configuration of a private PostgreSQL; nothing is started."""

import subprocess

import pytest

from devstack.servers.errors import BinaryMissing
from tests.support.private_servers import postgresql
from tests.support.private_servers.postgresql import PostgresqlServer


def test_newest_version_is_used_by_number(monkeypatch, tmp_path):
    for version in ("9.6", "15", "13"):
        path = tmp_path / version / "bin"
        path.mkdir(parents=True)
        (path / "postgres").touch(mode=0o700)
    (tmp_path / "99" / "bin").mkdir(parents=True)
    (tmp_path / "99" / "bin" / "postgres").touch(mode=0o600)
    monkeypatch.setattr(postgresql, "PROGRAMS_ROOT", str(tmp_path))
    assert postgresql.postgresql_programs() == tmp_path / "15" / "bin"


def test_missing_server_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setattr(postgresql, "PROGRAMS_ROOT", str(tmp_path))
    with pytest.raises(BinaryMissing, match="apt-get install postgresql"):
        postgresql.postgresql_programs()


def test_server_listens_on_its_socket_only(tmp_path):
    server = PostgresqlServer(tmp_path, settings=["max_connections = 7"])
    configuration = server._configuration().splitlines()
    assert "listen_addresses = ''" in configuration
    assert configuration.index("max_connections = 7") > configuration.index("max_connections = 100")
    assert server.url() == f"postgresql://gantt@/gantt?host={str(tmp_path).replace(' ', '%20')}"


@pytest.mark.parametrize(("uid", "is_wrapped"), [(0, True), (1000, False)])
def test_root_starts_it_as_another_user(monkeypatch, uid, is_wrapped):
    monkeypatch.setattr(postgresql.os, "geteuid", lambda: uid)
    monkeypatch.setattr(postgresql.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert bool(postgresql._unprivileged()) is is_wrapped
    monkeypatch.setattr(postgresql.shutil, "which", lambda name: None)
    if uid == 0:
        with pytest.raises(BinaryMissing, match="install util-linux"):
            postgresql._unprivileged()


@pytest.mark.parametrize("act", ["pause", "resume", "kill"])
def test_session_that_has_ended_since_it_was_listed_is_no_error(monkeypatch, tmp_path, act):
    with subprocess.Popen(["/bin/true"]) as session:
        session.wait()
    server = PostgresqlServer(tmp_path)
    monkeypatch.setattr(server, "sessions", lambda: [session.pid])
    getattr(server, act)()
