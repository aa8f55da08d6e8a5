# SPDX-License-Identifier: Apache-2.0
"""Base class of the RPC clients: target, version cap and deadline."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import oslo_messaging as messaging
from kombu import exceptions as kombu_exceptions
from oslo_config import cfg

from rpcapi import errors
from rpcapi.clients import version_caps
from rpcapi.context import RequestContext
from rpcapi.messaging import bus
from rpcapi.messaging.drivers import errors as bus_errors
from rpcapi.serializer import GanttSerializer

# Shortest useful monitor timeout. Servers send heartbeats at half the requested interval, in whole seconds.
MIN_MONITOR_S = 2.0
# Seconds after which to retry a send to a full queue.
QUEUE_RETRY_S = 1

# {"server": name} addresses one server, {"fanout": True} all servers of the topic.
Target = Mapping[str, Any]


@contextmanager
def _translate_bus_errors() -> Iterator[None]:
    """Raise Unavailable or Overloaded if the bus did not accept a message, RequestTooLarge if it never will."""
    try:
        yield
    except (messaging.MessageDeliveryFailure, kombu_exceptions.OperationalError) as error:
        raise errors.Unavailable(what="The message bus", why=str(error) or type(error).__name__) from error
    except messaging.ClientSendError as error:
        # oslo.messaging wraps every driver error; the original is in the context.
        cause = error.__context__
        if isinstance(cause, bus_errors.QueueFull):
            what = f"The queue {cause.queue}"
            raise errors.Overloaded(
                what=what, waiting=cause.bound, unit="messages", bound=cause.bound, retry_s=QUEUE_RETRY_S
            ) from cause
        if isinstance(cause, bus_errors.BusRefused):
            raise errors.Unavailable(what="The message bus", why=str(cause)) from cause
        if isinstance(cause, bus_errors.MessageTooLarge):
            raise errors.RequestTooLarge(
                count=cause.size, unit="bytes", option=cause.option, bound=cause.bound
            ) from cause
        raise


def _without_traceback(error: errors.GanttError) -> errors.GanttError:
    """Return the error in its own class: ``str()`` of oslo.messaging's ``_Remote`` class adds a traceback."""
    kind = next(base for base in type(error).__mro__ if base.__module__ == errors.__name__)
    return error if type(error) is kind else kind(error.sentence, **error.kwargs)


class ServiceClient:
    """Base of the clients, one per service; the methods of subclasses are the RPC contract."""

    TOPIC: ClassVar[str]  # The option in [upgrade_levels] has this name too.
    VERSION: ClassVar[str]
    # Version cap while the living services are unknown; "" means VERSION.
    OLDEST: ClassVar[str] = ""
    # Methods too fast for heartbeats: not monitored, which costs a thread per call, but limited to the monitor timeout.
    SHORT_CALLS: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, conf: cfg.ConfigOpts, transport: Any, topic: str | None = None) -> None:
        self._timeout = conf.rpc.call_timeout
        self._monitor = conf.rpc.call_monitor_timeout
        self._topic = topic or self.TOPIC
        target = messaging.Target(topic=self._topic, version=self.VERSION.split(".")[0] + ".0")
        self._cap = version_caps.cap_of(conf, transport, self.TOPIC, self.OLDEST or self.VERSION)
        self._client = bus.get_client(transport, target, serializer=GanttSerializer())

    def _version_cap(self, wait_s: float = version_caps.ANSWER_S) -> dict[str, str]:
        """Return the cap as arguments of ``prepare``, after a wait of at most ``wait_s`` seconds."""
        cap = self._cap(wait_s)
        return {} if cap is None else {"version_cap": cap}

    def call(
        self, ctxt: RequestContext, version: str, method: str, target: Target | None = None, /, **values: Any
    ) -> Any:
        """Call ``target`` (default: any server of the topic) and return its answer.

        Waits until the context's deadline, at most [rpc] call_timeout. Servers drop calls that they read later. Raises
        the service's GanttError, UnknownMethod, Unavailable (the bus is down), Overloaded (the queue is full),
        RequestTooLarge, AnswerTooLarge, oslo_messaging.MessagingTimeout or oslo_messaging.RPCVersionCapError.
        """
        # The wait for the cap may take half of the time.
        cap = self._version_cap(self._time_left(ctxt) / 2)
        timeout = self._time_left(ctxt)
        # Monitoring is useless if the call times out before a missed heartbeat.
        monitor = self._monitor if MIN_MONITOR_S <= self._monitor < timeout else None
        if monitor is not None and method in self.SHORT_CALLS:
            timeout, monitor = monitor, None
        prepared = self._client.prepare(
            version=version, timeout=timeout, call_monitor_timeout=monitor, **(target or {}), **cap
        )
        try:
            with _translate_bus_errors():
                return prepared.call(ctxt.with_timeout(timeout), method, **values)
        except errors.GanttError as error:
            # ``from None`` hides the original, whose text repeats the server's traceback.
            raise _without_traceback(error) from None
        except (messaging.NoSuchMethod, messaging.UnsupportedVersion) as error:
            raise errors.UnknownMethod(topic=self._topic, method=method, version=version) from error

    def _time_left(self, ctxt: RequestContext) -> float:
        """Return the seconds left for a call, never 0: oslo.messaging would replace 0 by its default."""
        return max(min(self._timeout, ctxt.remaining(self._timeout)), 0.001)

    def _cast(
        self, ctxt: RequestContext, version: str, method: str, target: Target | None = None, /, **values: Any
    ) -> None:
        """Send a message to ``target`` (default: any server of the topic), at most once.

        Sends no deadline, because a late host must still act. Raises Unavailable or RequestTooLarge.
        """
        prepared = self._client.prepare(version=version, **(target or {}), **self._version_cap())
        with _translate_bus_errors():
            prepared.cast(ctxt.without_deadline(), method, **values)
