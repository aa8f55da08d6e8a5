# SPDX-License-Identifier: Apache-2.0
"""Addresses of the embedded bus and access to it."""

from collections.abc import Callable

import pytest
from oslo_messaging.rpc import client as rpc_client
from oslo_messaging.server import ServerListenError

from devstack.servers.redis import RedisServer
from devstack.servers.redis_bus_users import SERVICE_BUS_USERS
from rpcapi import conf as rpc_conf
from rpcapi import context
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.errors import BadConfiguration, Unavailable
from tests.support.bus.bus_peer import Ending, Peers
from tests.support.bus.settings import QUICK

MakeRedis = Callable[..., RedisServer]


def test_wrong_password_is_reported_at_once_and_not_shown(
    make_peers: Callable[..., Peers], make_redis: MakeRedis, caplog: pytest.LogCaptureFixture
) -> None:
    redis = make_redis(users=SERVICE_BUS_USERS)
    peers = make_peers(redis, "conductor")
    peers.url = peers.url.replace(redis.passwords.of("conductor"), "guessed-password")
    with pytest.raises(rpc_client.ClientSendError, match="rejected the command") as caught:
        peers.client().cast({}, "note", value=1)
    with pytest.raises(ServerListenError, match="rejected the command"):
        peers.serve()
    transport = peers.transport()
    rpc_conf.register_opts(transport.conf)
    with pytest.raises(Unavailable, match=r"The message bus cannot be reached: .*rejected the command"):
        ConductorAPI(transport.conf, transport).get_instances(context.new(), [])
    assert "guessed-password" not in str(caught.value) + caplog.text


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("gantt+redis://one:1,two:2/0", "several hosts"),
        ("gantt+redis:///zero", "not a number"),
        ("gantt+redis:///0?sockt=/x", "unknown parameter: sockt"),
        ("gantt+redis://host:1/0?socket=/x", "both a host and a socket"),
        ("gantt+redis:///0?socket=x", "not an absolute path"),
        ("gantt://host/0", r"write gantt\+redis"),
    ],
)
def test_invalid_address_is_refused_with_the_reason(ending: Ending, url: str, why: str) -> None:
    with pytest.raises(BadConfiguration, match=f"transport_url.*{why}"):
        Peers(url, ending).transport()


def test_calls_work_over_tcp(make_peers: Callable[..., Peers], redis_server: RedisServer, ending: Ending) -> None:
    peers = Peers(f"gantt+redis://127.0.0.1:{redis_server.port}/0", ending, **QUICK)
    peers.serve()
    assert peers.client().call({}, "echo", value=1) == 1
    peers.close()
