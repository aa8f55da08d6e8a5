# SPDX-License-Identifier: Apache-2.0
"""Where the configuration comes from when no option names it."""

import pytest

from rpcapi import errors
from rpcapi.shell import configuration


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Return a function that writes a file naming a partition, in a home and a run folder of our own."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv(configuration.FILE_VARIABLE, raising=False)
    monkeypatch.setenv(configuration.RUN_VARIABLE, str(tmp_path / "run"))

    def write(where, partition):
        path = tmp_path / where / "gantt.conf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"[rpc]\npartition = {partition}\n")
        return str(path)

    return write


def partition(*files):
    return configuration.load(files).rpc.partition


def test_with_no_file_at_all_the_defaults_hold(places):
    assert partition() == "default"


def test_the_first_place_that_has_one_is_used(places, monkeypatch):
    places("run/etc", "running")
    assert partition() == "running"
    places("home/.gantt", "mine")
    assert partition() == "mine"
    monkeypatch.setenv(configuration.FILE_VARIABLE, places("env", "named"))
    assert partition() == "named"
    assert partition(places("option", "given")) == "given"


def test_the_variable_may_name_several(places, monkeypatch):
    first, second = places("a", "first"), places("b", "second")
    monkeypatch.setenv(configuration.FILE_VARIABLE, f"{first}:{second}")
    assert partition() == "second"


def test_a_run_folder_that_others_may_write_is_not_trusted(places, tmp_path):
    places("run/etc", "planted")
    (tmp_path / "run").chmod(0o777)
    assert partition() == "default"


def test_a_person_waits_less_long_than_a_service(places):
    assert configuration.load([]).rpc.call_timeout == configuration.CALL_TIMEOUT


def test_a_bad_value_is_bad_configuration(places, tmp_path):
    path = tmp_path / "bad.conf"
    path.write_text("not a configuration\n")
    with pytest.raises(errors.BadConfiguration, match=r"bad\.conf"):
        configuration.load([str(path)])
