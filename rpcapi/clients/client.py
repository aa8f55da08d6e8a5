# SPDX-License-Identifier: Apache-2.0
"""Base of the client classes: target, version cap and the caller's deadline."""

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

# Servers send heartbeats at half of the requested interval, in whole seconds; below this value they send none.
MIN_MONITOR_S = 2.0
# Seconds after which to send again to a queue that was full: its servers have processed some of it then.
QUEUE_RETRY_S = 1

# {"server": name} is one server, {"fanout": True} all that listen on the topic now.
Target = Mapping[str, Any]


@contextmanager
def _translate_bus_errors() -> Iterator[None]:
    """Raise Unavailable or Overloaded when the bus does not accept a message, RequestTooLarge if it never will."""
    try:
        yield
    except (messaging.MessageDeliveryFailure, kombu_exceptions.OperationalError) as error:
        raise errors.Unavailable(what="The message bus", why=str(error) or type(error).__name__) from error
    except messaging.ClientSendError as error:
        # oslo.messaging's client wraps all errors of a driver; the context has the driver's own error.
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
    """Return ``error`` as the service raised it.

    oslo.messaging delivers it as an instance of a generated class ``<name>_Remote``, whose ``str()`` contains the
    server's traceback.
    """
    kind = next(base for base in type(error).__mro__ if base.__module__ == errors.__name__)
    return error if type(error) is kind else kind(error.sentence, **error.kwargs)


class ServiceClient:
    """Client of one service. The methods of subclasses are the RPC contract."""

    TOPIC: ClassVar[str]  # also the option in [upgrade_levels] that caps what is sent
    VERSION: ClassVar[str]
    # Version of the oldest supported release, the cap while the living services are unknown; "" is VERSION.
    OLDEST: ClassVar[str] = ""
    # Methods that end before a first heartbeat could arrive. They are sent without monitoring, which would cost the
    # server a thread per call, and use the monitor time-out as their time-out.
    SHORT_CALLS: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, conf: cfg.ConfigOpts, transport: Any, topic: str | None = None) -> None:
        self._timeout = conf.rpc.call_timeout
        self._monitor = conf.rpc.call_monitor_timeout
        self._topic = topic or self.TOPIC
        target = messaging.Target(topic=self._topic, version=self.VERSION.split(".")[0] + ".0")
        self._cap = version_caps.cap_of(conf, transport, self.TOPIC, self.OLDEST or self.VERSION)
        self._client = bus.get_client(transport, target, serializer=GanttSerializer())

    def _version_cap(self, wait_s: float = version_caps.ANSWER_S) -> dict[str, str]:
        """Return the cap as an argument of ``prepare``, if there is one; waits at most ``wait_s`` seconds for it."""
        cap = self._cap(wait_s)
        return {} if cap is None else {"version_cap": cap}

    def call(
        self, ctxt: RequestContext, version: str, method: str, target: Target | None = None, /, **values: Any
    ) -> Any:
        """Call ``target``, any server of the topic for None, and wait until the deadline or for [rpc] call_timeout.

        The end of the wait is sent with the call as its deadline: a server that reads the call later drops it.
        Raises the typed error of the service, UnknownMethod when the service does not have the method, Unavailable
        when the bus did not accept the call in time, Overloaded when the queue is full, RequestTooLarge or
        AnswerTooLarge when the bus accepts no message of that size, oslo.messaging's MessagingTimeout when no answer
        arrived, and RPCVersionCapError when the cap does not allow this version.
        """
        # At most half of the time is for the cap, the rest is for the call.
        cap = self._version_cap(self._time_left(ctxt) / 2)
        timeout = self._time_left(ctxt)
        # Not for calls that time out sooner anyway.
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
            # From None: the original is the same error with the server's traceback in its text.
            raise _without_traceback(error) from None
        except (messaging.NoSuchMethod, messaging.UnsupportedVersion) as error:
            raise errors.UnknownMethod(topic=self._topic, method=method, version=version) from error

    def _time_left(self, ctxt: RequestContext) -> float:
        """Return for how many seconds a call may wait; never 0, which oslo.messaging takes for its default."""
        return max(min(self._timeout, ctxt.remaining(self._timeout)), 0.001)

    def _cast(
        self, ctxt: RequestContext, version: str, method: str, target: Target | None = None, /, **values: Any
    ) -> None:
        """Send to ``target``, any server of the topic for None, without an answer; delivery is at most once.

        The context's deadline is not sent: it limits the use of an answer, and a host that returns later must still get
        the message. The receiver decides by its content whether it is too late. Raises Unavailable when the bus did
        not accept it in time, RequestTooLarge when it never will.
        """
        prepared = self._client.prepare(version=version, **(target or {}), **self._version_cap())
        with _translate_bus_errors():
            prepared.cast(ctxt.without_deadline(), method, **values)
