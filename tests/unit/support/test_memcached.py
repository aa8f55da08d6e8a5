# SPDX-License-Identifier: Apache-2.0
"""Program and address of a private memcached; nothing is started."""

import shutil

import pytest

from devstack.servers.errors import BinaryMissing
from tests.support.private_servers import memcached


def test_missing_program_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name, path: None)
    with pytest.raises(BinaryMissing, match="apt-get install memcached"):
        memcached.memcached_binary()


def test_server_is_reached_by_its_socket(tmp_path):
    server = memcached.MemcachedServer(tmp_path)
    assert (server.url(), server.pid, server._answers()) == (f"memcached://{tmp_path}/memcached.sock", None, False)
