# SPDX-License-Identifier: Apache-2.0
"""Server groups with failover: start as a whole, and URLs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devstack.deploy.users.redis_users import STORE_USERS
from devstack.servers.errors import ServerError
from devstack.servers.redis_binary import redis_binary
from devstack.servers.redis_cluster import RedisCluster
from devstack.servers.sentinel import SentinelGroup
from rpcapi.conf import redis_url


@pytest.mark.parametrize("make", [RedisCluster, SentinelGroup])
def test_group_that_cannot_start_leaves_nothing_running(run_folder: Path, make: Callable[..., Any]) -> None:
    # Given a program that runs once, and fails at the second start
    once, program = run_folder / "once", run_folder / "program"
    program.write_text(f'#!/bin/sh\n[ -e {once} ] && exit 1\ntouch {once}\nexec {redis_binary()} "$@"\n')
    program.chmod(0o700)
    group = make(run_folder / "g", binary=program)
    with pytest.raises(ServerError, match="ended while it was starting"):
        group.start()
    started = group.nodes if make is RedisCluster else group.servers
    assert once.exists() and {server.pid for server in started} == {None}


@pytest.mark.parametrize("users", [(), STORE_USERS], ids=["no users", "users"])
def test_url_is_valid_for_a_service(run_folder: Path, users: tuple) -> None:
    group = SentinelGroup(run_folder / "s", users=users)
    redis_url.check("store", group.url("scheduler" if users else None))
    for name in ("scheduler", "whereabouts") if users else ():
        assert (run_folder / "s" / f"{name}.password").stat().st_mode & 0o777 == 0o600
