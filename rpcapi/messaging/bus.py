# SPDX-License-Identifier: Apache-2.0
"""Factory of all transports, RPC clients and RPC servers."""

from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg
from oslo_messaging import server, transport
from oslo_messaging.rpc import client, dispatcher
from oslo_messaging.rpc.server import RPCServer
from oslo_messaging.transport import RPCTransport

from rpcapi import errors, tracing
from rpcapi.access.callers import access_of
from rpcapi.conf import register_groups
from rpcapi.conf import rpc as rpc_conf
from rpcapi.conf import transport as transport_conf
from rpcapi.messaging.authorization import AuthorizingDispatcher
from rpcapi.messaging.dispatch import StrictDispatcher, StrictServer
from rpcapi.messaging.drivers import opts as bus_opts
from rpcapi.messaging.drivers.dead_letters import COUNT as LETTER_COUNT
from rpcapi.messaging.private import oslo_messaging_metrics, oslo_messaging_tracing

EXCHANGE = "gantt"

# Modules of exceptions that are deserialized with their type; oslo's are for unknown methods and versions.
ALLOWED_REMOTE_EXMODS = ["rpcapi.errors", "oslo_messaging.rpc.dispatcher"]

RABBIT = "oslo_messaging_rabbit"


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of oslo.messaging's RPC and of the embedded bus.

    oslo.messaging registers tracing and metrics options on the global configuration only. Without them on a private
    one, its server acknowledges messages but dispatches none.
    """
    for options in (server._pool_opts, client._client_opts, transport._transport_opts, dispatcher._dispatcher_opts):
        conf.register_opts(options)
    conf.register_opts(oslo_messaging_tracing, group=tracing.GROUP)
    conf.register_opts(oslo_messaging_metrics, group="oslo_messaging_metrics")
    bus_opts.register_opts(conf)
    register_groups(conf, rpc_conf)


def set_defaults(conf: cfg.ConfigOpts) -> None:
    register_opts(conf)
    conf.set_default("control_exchange", EXCHANGE)
    conf.set_default("rpc_response_timeout", 30)


def set_rabbit_defaults(conf: cfg.ConfigOpts) -> None:
    from oslo_messaging import opts as messaging_opts  # noqa: PLC0415 - lazy: brings all drivers

    register_opts(conf)
    conf.register_opts(dict(messaging_opts.list_opts())[RABBIT], group=RABBIT)
    # One connection per executor thread, opened on demand, so that no thread waits to send its answer.
    for name, value in {**RABBIT_DEFAULTS, "rpc_conn_pool_size": conf.executor_thread_pool_size}.items():
        conf.set_default(name, value, group=RABBIT)


# Queues are transient: senders retry messages that a broker's restart loses. `amqp_durable_queues` would keep them, at
# three times the latency of a call, and `rabbit_quorum_queue` when a cluster loses a node. All processes need the same.
RABBIT_DEFAULTS: dict[str, Any] = {
    "rabbit_qos_prefetch_count": 8,  # the default is unlimited: a paused worker would receive the whole queue
    "heartbeat_timeout_threshold": 20,
    "heartbeat_rate": 4,
    "kombu_reconnect_delay": 0.5,
    "rabbit_retry_interval": 1,
    "rabbit_retry_backoff": 1,
    "rabbit_interval_max": 5,
    "rabbit_transient_queues_ttl": 300,  # seconds until queues of dead processes expire
}


def get_transport(conf: cfg.ConfigOpts, url: str | None = None) -> RPCTransport:
    """Return a lazily connecting transport. Raises BadConfiguration without quoting credentials."""
    set_defaults(conf)
    try:
        parsed = messaging.TransportURL.parse(conf, url)
    except (messaging.InvalidTransportURL, ValueError):
        # The library's errors quote the URL, or a password mistaken for a port.
        raise transport_conf.malformed_url() from None
    if "rabbit" in parsed.transport:
        set_rabbit_defaults(conf)
    tracing.start(conf)
    try:
        driver = _own_driver(parsed.transport)
        if driver is not None:
            values = {"default_exchange": conf.control_exchange, "allowed_remote_exmods": ALLOWED_REMOTE_EXMODS}
            return RPCTransport(driver(conf, parsed, **values))
        return messaging.get_rpc_transport(conf, parsed, allowed_remote_exmods=ALLOWED_REMOTE_EXMODS)
    except ModuleNotFoundError as error:
        raise transport_conf.missing_package(parsed.transport, error.name or "") from error
    except messaging.DriverLoadFailure:
        raise transport_conf.unknown_driver(parsed.transport) from None
    except cfg.Error as error:
        raise errors.BadConfiguration(why=f"transport_url cannot be used: {str(error).rstrip('.')}") from None


def _own_driver(name: str) -> Any:
    """Return gantt's driver, or None. oslo's search of all entry points would dominate a command's time."""
    if name in ("rabbit", "gantt-rabbit"):
        from rpcapi.messaging.drivers import confined_rabbit  # noqa: PLC0415 - other buses do not need it

        return confined_rabbit.ConfinedRabbitDriver
    if name == "gantt+redis":
        from rpcapi.messaging.drivers import redis_bus  # noqa: PLC0415 - as above

        return redis_bus.RedisBusDriver
    return None


def dead_letters(transport: RPCTransport) -> list[Any] | None:
    """Return dead letters, newest first; None if the bus keeps none. Raises Unavailable."""
    letters: list[Any] | None = _use_driver(transport, "dead_letters")
    return letters


def count_dead_letters() -> int:
    return LETTER_COUNT.value


def connect(transport: RPCTransport) -> None:
    """Open a connection of a gantt driver; raises Unavailable within seconds, where a server would wait forever."""
    _use_driver(transport, "connect")


def waiting_messages(transport: RPCTransport) -> dict[str, int]:
    return _use_driver(transport, "waiting_messages") or {}


def _use_driver(transport: RPCTransport, method: str) -> Any:
    use = getattr(transport._driver, method, None)
    try:
        return None if use is None else use()
    except messaging.MessagingException as error:
        raise errors.Unavailable(what="The message bus", why=str(error)) from error


def exchange_of(transport: RPCTransport, target: messaging.Target) -> messaging.Target:
    """Return the target with its service's exchange, so that permission to publish is permission to call."""
    if target.exchange or not target.topic:
        return target
    service = target.topic.partition(".")[0]
    return target(exchange=f"{transport.conf.control_exchange}-{service}")


def get_client(
    transport: RPCTransport,
    target: messaging.Target,
    *,
    timeout: float | None = None,
    version_cap: str | None = None,
    serializer: messaging.Serializer | None = None,
    call_monitor_timeout: float | None = None,
) -> messaging.RPCClient:
    """Return a client that sends to the service's exchange; options as for oslo.messaging's client."""
    return messaging.get_rpc_client(
        transport,
        exchange_of(transport, target),
        timeout=timeout,
        version_cap=version_cap,
        serializer=serializer,
        call_monitor_timeout=call_monitor_timeout,
    )


def get_server(
    transport: RPCTransport,
    target: messaging.Target,
    endpoints: list[Any],
    serializer: messaging.Serializer | None = None,
    executor: str | None = None,
) -> RPCServer:
    """Return a server of exposed methods. gantt's services accept the callers in rpcapi.access.callers only."""
    target = exchange_of(transport, target)
    access = access_of(target.topic.partition(".")[0])
    senders = getattr(transport._driver, "senders", None)
    if access is None or senders is None:
        dispatch = StrictDispatcher(endpoints, serializer)
    else:
        dispatch = AuthorizingDispatcher(endpoints, serializer, access=access, directory=senders)
    return StrictServer(transport, target, dispatch, executor)
