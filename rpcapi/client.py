# SPDX-License-Identifier: Apache-2.0
"""What the four client classes share: a target, a version cap and the caller's deadline."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import oslo_messaging as messaging
from kombu import exceptions as kombu_exceptions
from oslo_config import cfg

from rpcapi import bus, errors
from rpcapi.context import RequestContext
from rpcapi.drivers import errors as bus_errors
from rpcapi.serializer import GanttSerializer

# Servers give a sign of life every half of what they are told, in whole seconds; of less than this they make nothing.
LEAST_MONITOR = 2.0


@contextmanager
def _bus_errors_are_ours() -> Iterator[None]:
    """Raise Unavailable for a bus that is away or lets nobody in, InvalidRequest for what it can never carry."""
    try:
        yield
    except (messaging.MessageDeliveryFailure, kombu_exceptions.OperationalError) as error:
        raise errors.Unavailable(what="The message bus", why=str(error) or type(error).__name__) from error
    except messaging.ClientSendError as error:
        # What oslo.messaging's client makes of whatever a driver raises; the driver's own error says what it was.
        cause = error.__context__
        if isinstance(cause, bus_errors.BusRefused):
            raise errors.Unavailable(what="The message bus", why=str(cause)) from cause
        # Not one of a subclass: that is how an answer too large arrives, and its request was carried out.
        if type(cause) is bus_errors.MessageTooLarge:
            raise errors.InvalidRequest(why=str(cause)) from cause
        raise


def _plain(error: errors.GanttError) -> errors.GanttError:
    """Return ``error`` as its service raised it.

    oslo.messaging delivers it as an instance of a class of its own making, ``<name>_Remote``, whose ``str()`` is the
    server's traceback, paths and all.
    """
    kind = next(each for each in type(error).__mro__ if each.__module__ == errors.__name__)
    return error if type(error) is kind else kind(error.sentence, **error.kwargs)


class ServiceClient:
    """One service as its callers see it. Methods of subclasses are the contract, three lines each."""

    TOPIC: ClassVar[str]
    VERSION: ClassVar[str]
    CAP: ClassVar[str]  # the option in [upgrade_levels] that caps what is sent
    # Methods that end before a first sign of life could come. Who waits for one without hearing anything gives up as
    # soon as with signs of life, but they would cost the server a thread for each call.
    PROMPT: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, conf: cfg.ConfigOpts, transport: Any, topic: str | None = None) -> None:
        self._timeout = conf.rpc.call_timeout
        self._monitor = conf.rpc.call_monitor_timeout
        self._topic = topic or self.TOPIC
        target = messaging.Target(topic=self._topic, version=self.VERSION.split(".")[0] + ".0")
        cap = conf.upgrade_levels[self.CAP]
        self._client = bus.get_client(transport, target, version_cap=cap, serializer=GanttSerializer())

    def can_send(self, version: str) -> bool:
        """Tell whether the cap lets a method of ``version`` be sent."""
        return self._client.can_send_version(version)

    def _call(self, ctxt: RequestContext, version: str, method: str, /, **values: Any) -> Any:
        """Call and wait; the wait ends with the context's deadline, or after [rpc] call_timeout.

        The end of the wait travels with the call: who reads it later drops it, on whatever bus, and does nothing.
        Raises the typed error of the service, UnknownMethod where it is older than the method, Unavailable where
        the bus did not take the call in time, InvalidRequest where the call is too large for the bus,
        oslo.messaging's MessagingTimeout where no answer came, and RPCVersionCapError where the cap does not let this
        version be sent.
        """
        timeout = min(self._timeout, ctxt.remaining(self._timeout)) or 0.001
        # Without use in a call that ends sooner anyway.
        monitor = self._monitor if LEAST_MONITOR <= self._monitor < timeout else None
        if monitor is not None and method in self.PROMPT:
            timeout, monitor = monitor, None
        prepared = self._client.prepare(version=version, timeout=timeout, call_monitor_timeout=monitor)
        try:
            with _bus_errors_are_ours():
                return prepared.call(ctxt.within(timeout), method, **values)
        except errors.GanttError as error:
            # From None: what it would be chained to is the same error with the server's traceback as its text.
            raise _plain(error) from None
        except (messaging.NoSuchMethod, messaging.UnsupportedVersion) as error:
            raise errors.UnknownMethod(topic=self._topic, method=method, version=version) from error

    def _cast(self, ctxt: RequestContext, version: str, method: str, server: str, **values: Any) -> None:
        """Send without an answer to one server of the topic; delivery is at most once.

        The context's deadline stays behind: it says until when an answer is of use, and a host that comes back
        after it must still be told. What came too late is for the receiver to judge by what was asked of it.
        Raises Unavailable where the bus did not take it in time, InvalidRequest where it is too large for it.
        """
        with _bus_errors_are_ours():
            self._client.prepare(version=version, server=server).cast(ctxt.lasting(), method, **values)

    def _fanout(self, ctxt: RequestContext, version: str, method: str, **values: Any) -> None:
        """Send without an answer to every server of the topic that is there now; raises as a cast."""
        with _bus_errors_are_ours():
            self._client.prepare(version=version, fanout=True).cast(ctxt.lasting(), method, **values)
