# SPDX-License-Identifier: Apache-2.0
"""The peers' environments: created once, complete or not at all, separate from gantt's."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from devstack import peer_environments
from devstack.peer_environments import NOVA_CLOUD, PeerMissing

SETUP = Path(__file__).parents[3] / "setup.py"


@pytest.fixture
def commands(monkeypatch):
    """Recorded commands, and words of commands that shall fail."""
    calls, failing_words = [], []

    def run(command, **options):
        calls.append(command)
        assert options["timeout"]
        code = int(any(word in command for word in failing_words))
        return subprocess.CompletedProcess(command, code, "", "no such release" if code else "")

    monkeypatch.setattr(subprocess, "run", run)
    return calls, failing_words


def test_missing_peer_error_says_how_to_install_it(tmp_path):
    with pytest.raises(
        PeerMissing, match=r"nova-cloud 34\.0\.0 is not installed in .*`\./devstack/nova\.sh --install`"
    ):
        peer_environments.python(tmp_path)


def test_peer_is_installed_once_into_its_own_environment(tmp_path, commands):
    calls, _ = commands
    peer_environments.install(tmp_path)
    venv, pip = calls
    assert venv[:3] == [sys.executable, "-m", "venv"]
    assert pip[0].startswith(str(tmp_path))
    assert tuple(pip[-len(NOVA_CLOUD.requirements) :]) == NOVA_CLOUD.requirements
    peer_environments.install(tmp_path)
    assert len(calls) == 2
    assert peer_environments.python(tmp_path) == Path(pip[0])


def test_incomplete_environment_is_removed(tmp_path, commands):
    _, failing_words = commands
    failing_words.append("nova==34.0.0")
    with pytest.raises(PeerMissing, match="no such release"):
        peer_environments.install(tmp_path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(PeerMissing):
        peer_environments.python(tmp_path)


def test_unwritable_cache_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PeerMissing, match="cannot be installed in"):
        peer_environments.install(tmp_path / "file")


def test_peers_are_not_dependencies_of_gantt():
    text = SETUP.read_text()
    # As a requirement, which an extra of the same name is not, nor a path of package data.
    assert not any(re.search(rf'"{package}(?!":|/)', text) for package in ("nova", "openstack-placement"))
