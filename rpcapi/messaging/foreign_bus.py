# SPDX-License-Identifier: Apache-2.0
"""Bus of other software, such as Nova's, by stock drivers: that software declares the queues too."""

import functools
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg
from oslo_messaging.transport import RPCTransport

from rpcapi import errors
from rpcapi.messaging import bus
from rpcapi.messaging.arrivals import ArrivalServer
from rpcapi.messaging.late_calls import DropCounter, LateCallDispatcher
from rpcapi.messaging.private import PURPOSE_SEND

CONNECT_SECONDS = 5.0
RABBIT_PORT = 5672


def is_rabbit(transport: RPCTransport) -> bool:
    return getattr(transport._driver, "_get_connection", None) is not None


@contextmanager
def open_channel(transport: RPCTransport) -> Iterator[Any]:
    """Yield a channel on an exclusive connection, locked against the heartbeat thread. Raises broker errors."""
    with transport._driver._get_connection(PURPOSE_SEND) as pooled:
        connection = pooled.connection
        with connection._connection_lock, connection.connection.channel() as channel:
            yield channel


def may_be_waiting(transport: RPCTransport, incoming: Any) -> bool:
    """Return whether the caller may still wait. RabbitMQ deletes the reply queue of a dead caller."""
    queue = getattr(incoming, "reply_q", None)
    if not queue or not is_rabbit(transport):
        return True
    try:
        with open_channel(transport) as channel:
            channel.queue_declare(queue, passive=True)
    except Exception as error:
        return "NOT_FOUND" not in str(error)
    return True


def rabbit_options() -> list[cfg.Opt]:
    from oslo_messaging import opts as messaging_opts  # noqa: PLC0415 - lazy: brings all drivers

    options: list[cfg.Opt] = dict(messaging_opts.list_opts())[bus.RABBIT]
    return options


def get_transport(
    url: str,
    exchange: str,
    *,
    threads: int,
    rabbit: Mapping[str, Any] | None = None,
    lock_path: str = "",
    label: str = "transport_url",
) -> RPCTransport:
    """Return a lazily connecting transport of another bus. Raises BadConfiguration without credentials.

    ``lock_path``, the folder of locks with which processes agree on queue names, is set for the whole process.
    """
    if rabbit and rabbit.get("use_queue_manager"):
        _set_lock_path(lock_path)
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    bus.register_opts(conf)
    conf.set_override("control_exchange", exchange)
    conf.set_override("executor_thread_pool_size", threads)
    conf.register_opts(rabbit_options(), group=bus.RABBIT)
    for name, value in (rabbit or {}).items():
        conf.set_override(name, value, group=bus.RABBIT)
    try:
        return messaging.get_rpc_transport(conf, url)
    except (messaging.InvalidTransportURL, messaging.DriverLoadFailure, ValueError):
        # The library's errors may quote the password.
        raise errors.BadConfiguration(why=f"{label}: oslo.messaging has no driver for it") from None


def _set_lock_path(lock_path: str) -> None:
    from oslo_concurrency import lockutils  # noqa: PLC0415 - lazy: few buses need it

    if not lock_path:
        raise errors.BadConfiguration(why="use_queue_manager needs lock_path, which is not set")
    lockutils.set_defaults(lock_path)


def probe(transport: RPCTransport) -> None:
    """Connect to a broker, since a server's start would block while all are down. Raises Unavailable."""
    url = getattr(transport._driver, "_url", None)
    failure: OSError | None = None
    for host in getattr(url, "hosts", None) or ():
        try:
            socket.create_connection((host.hostname, host.port or RABBIT_PORT), CONNECT_SECONDS).close()
        except OSError as error:
            failure = error
        else:
            return
    if failure is not None:
        raise errors.Unavailable(what="The message bus", why=str(failure)) from failure


def get_server(
    transport: RPCTransport,
    target: messaging.Target,
    endpoints: Sequence[Any],
    serializer: messaging.Serializer,
    *,
    on_dropped: DropCounter,
) -> ArrivalServer:
    may_wait = functools.partial(may_be_waiting, transport)
    dispatcher = LateCallDispatcher(list(endpoints), serializer, may_wait=may_wait, on_dropped=on_dropped)
    return ArrivalServer(transport, target, dispatcher)
