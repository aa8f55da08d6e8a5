# SPDX-License-Identifier: Apache-2.0
"""Paths of RabbitMQ's programs."""

import shutil

import pytest

from devstack.servers import rabbitmq_binary
from devstack.servers.errors import BinaryMissing


@pytest.mark.parametrize(("script", "epmd"), [(True, None), (False, "/usr/bin/epmd")])
def test_missing_program_says_how_to_install_it(monkeypatch, tmp_path, script, epmd):
    path = tmp_path / "rabbitmq-server"
    if script:
        path.touch()
    monkeypatch.setattr(rabbitmq_binary, "SERVER_SCRIPT", path)
    monkeypatch.setattr(shutil, "which", lambda name, path: epmd)
    with pytest.raises(BinaryMissing, match="apt-get install rabbitmq-server"):
        rabbitmq_binary.rabbit_programs()


def test_installed_programs_are_returned(monkeypatch, tmp_path):
    (tmp_path / "rabbitmq-server").touch()
    monkeypatch.setattr(rabbitmq_binary, "SERVER_SCRIPT", tmp_path / "rabbitmq-server")
    monkeypatch.setattr(shutil, "which", lambda name, path: f"/usr/bin/{name}")
    programs = rabbitmq_binary.rabbit_programs()
    assert (programs.server.name, str(programs.epmd)) == ("rabbitmq-server", "/usr/bin/epmd")
