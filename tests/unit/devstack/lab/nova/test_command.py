# SPDX-License-Identifier: Apache-2.0
"""Arguments of lab.sh nova, and a missing Nova."""

import argparse

import pytest

from devstack.lab.nova.command import burst_size
from tests.support import asking


@pytest.mark.parametrize("part", ["select", "race", "bursts"])
def test_missing_nova_is_reported_with_the_command_that_installs_it(monkeypatch, tmp_path, part):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code, _, error = asking.run("nova", "--parts", part, "--hosts", "4", "--bursts", "4", "--schedulers", "1")
    assert code == 1
    assert "nova-cloud 34.0.0 is not installed" in error
    assert "--install" in error


def test_bursts_are_as_large_as_fits_twice():
    assert burst_size("200") == 200
    with pytest.raises(argparse.ArgumentTypeError, match="201 is not from 1 to 200"):
        burst_size("201")
