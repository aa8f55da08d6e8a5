# SPDX-License-Identifier: Apache-2.0
"""The peers' environments: made once, whole or not at all, and never ours."""

import subprocess
import sys
from pathlib import Path

import pytest

from devstack.lab.peers import environments
from devstack.lab.peers.environments import NOVA, PEERS, PeerMissing

SETUP = Path(__file__).parents[5] / "setup.py"


@pytest.fixture
def commands(monkeypatch):
    """What would be run; ``fails`` names a word of the command that fails."""
    seen, fails = [], []

    def run(command, **options):
        seen.append(command)
        assert options["timeout"]
        code = int(any(word in command for word in fails))
        return subprocess.CompletedProcess(command, code, "", "no such release" if code else "")

    monkeypatch.setattr(subprocess, "run", run)
    return seen, fails


def test_what_is_missing_is_said_with_what_to_do(tmp_path):
    with pytest.raises(PeerMissing, match=r"nova 34\.0\.0 is not installed in .*gantt-lab peers --install"):
        environments.python(NOVA, tmp_path)


def test_it_is_installed_once_into_an_environment_of_its_own(tmp_path, commands):
    seen, _ = commands
    environments.install(NOVA, tmp_path)
    venv, pip = seen
    assert venv[:3] == [sys.executable, "-m", "venv"]
    assert pip[0].startswith(str(tmp_path))
    assert pip[-1] == "nova==34.0.0"
    environments.install(NOVA, tmp_path)
    assert len(seen) == 2
    assert environments.python(NOVA, tmp_path) == Path(pip[0])


def test_half_an_environment_is_none(tmp_path, commands):
    _, fails = commands
    fails.append("nova==34.0.0")
    with pytest.raises(PeerMissing, match="no such release"):
        environments.install(NOVA, tmp_path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(PeerMissing):
        environments.python(NOVA, tmp_path)


def test_a_cache_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PeerMissing, match="cannot be installed in"):
        environments.install(NOVA, tmp_path / "file")


def test_no_peer_is_a_dependency_of_ours():
    text = SETUP.read_text()
    assert not any(f'"{peer.package}' in text for peer in PEERS)
