# SPDX-License-Identifier: Apache-2.0
"""Sources of the configuration without --config-file."""

import pytest

from rpcapi import errors
from rpcapi.conf import client


@pytest.fixture
def write_file(tmp_path, monkeypatch):
    """Return a function that writes a configuration file with a partition, below a temporary home and run folder."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv(client.FILE_VARIABLE, raising=False)
    monkeypatch.setenv(client.RUN_VARIABLE, str(tmp_path / "run"))

    def write(folder, partition):
        path = tmp_path / folder / "gantt.conf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"[rpc]\npartition = {partition}\n")
        return str(path)

    return write


def partition(*files):
    return client.load(files).rpc.partition


def test_defaults_apply_without_a_file(write_file):
    assert partition() == "default"


def test_first_existing_file_is_used(write_file, monkeypatch):
    write_file("run/etc", "running")
    assert partition() == "running"
    write_file("home/.gantt", "home")
    assert partition() == "home"
    monkeypatch.setenv(client.FILE_VARIABLE, write_file("env", "named"))
    assert partition() == "named"
    assert partition(write_file("option", "given")) == "given"


def test_variable_may_list_several_files(write_file, monkeypatch):
    first, second = write_file("a", "first"), write_file("b", "second")
    monkeypatch.setenv(client.FILE_VARIABLE, f"{first}:{second}")
    assert partition() == "second"


def test_run_folder_writable_by_others_is_not_trusted(write_file, tmp_path):
    write_file("run/etc", "planted")
    (tmp_path / "run").chmod(0o777)
    assert partition() == "default"


def test_call_timeout_of_clients_is_their_own(write_file):
    assert client.load().rpc.call_timeout == client.CALL_TIMEOUT


def test_malformed_file_is_bad_configuration(write_file, tmp_path):
    path = tmp_path / "bad.conf"
    path.write_text("not a configuration\n")
    with pytest.raises(errors.BadConfiguration, match=r"bad\.conf"):
        client.load([str(path)])
