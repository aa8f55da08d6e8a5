# SPDX-License-Identifier: Apache-2.0
"""Dispatch of received messages; peers' mistakes get typed errors and one line in the log."""

import functools
import logging
import math
import re
import sys
import threading
from collections import Counter
from contextlib import nullcontext
from typing import Any

import oslo_messaging as messaging
from oslo_messaging.rpc import dispatcher
from oslo_messaging.rpc.server import RPCServer
from oslo_messaging.transport import RPCTransport

from rpcapi import errors
from rpcapi.messaging import green
from rpcapi.messaging.drivers.errors import MessageTooLarge
from rpcapi.messaging.heartbeats import Heartbeats
from rpcapi.messaging.postponement import CallPostponed
from rpcapi.messaging.private import trace_receive
from rpcapi.messaging.thread_pool import ThreadPool
from rpcapi.validation.text import abbreviate

LOG = logging.getLogger(__name__)

MAX_METHOD = 64  # characters
MAX_LOGGED = 500  # characters of an error
MIN_MONITOR_S = 2.0  # servers send two heartbeats per interval, at whole seconds, and none for shorter intervals
MAX_MONITOR_S = 24 * 3600.0

_VERSION = re.compile(r"[0-9]{1,6}\.[0-9]{1,6}")


class Backlog:
    """Received messages per topic that wait for a thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, topic: str, messages: int) -> None:
        with self._lock:
            self._counts[topic] += messages

    def counts(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)


BACKLOG = Backlog()


def check_message(message: Any) -> None:
    if not isinstance(message, dict):
        raise _malformed("it must be a mapping", message)
    method = message.get("method")
    if not isinstance(method, str) or not 1 <= len(method) <= MAX_METHOD or not method.isprintable():
        raise _malformed(f"the method must have 1 to {MAX_METHOD} printable characters", method)
    if not isinstance(message.get("args", {}), dict):
        raise _malformed("the arguments must be a mapping", message["args"])
    version = message.get("version", "1.0")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise _malformed("the version must be two numbers such as '1.0'", version)
    if not isinstance(message.get("namespace"), str | None):
        raise _malformed("the namespace must be a string", message["namespace"])


def _malformed(why: str, value: Any) -> errors.MalformedObject:
    return errors.MalformedObject(name="call", why=f"{why}, not {abbreviate(value)}")


class StrictDispatcher(dispatcher.RPCDispatcher):
    """Dispatcher that answers peers' mistakes with typed errors instead of tracebacks or endless heartbeats."""

    def __init__(self, endpoints: list[Any], serializer: Any) -> None:
        super().__init__(endpoints, serializer, messaging.ExplicitRPCAccessPolicy)
        self._heartbeats = Heartbeats()

    def dispatch(self, incoming: Any) -> Any:
        """Run the method and return its serialized answer. Raises ExpectedException for typed errors."""
        message = incoming.message
        try:
            check_message(message)
            if not isinstance(incoming.ctxt, dict):
                raise _malformed("the context must be a mapping", incoming.ctxt)
            endpoint = self._endpoint_of(message)
            is_monitored = is_monitor_interval(incoming.client_timeout)
            with self._heartbeats.to_caller_of(incoming) if is_monitored else nullcontext():
                return self._do_dispatch(endpoint, message["method"], incoming.ctxt, message.get("args", {}))
        except (errors.GanttError, dispatcher.RPCDispatcherError) as error:
            LOG.warning("Rejected a message: %s", str(error)[:MAX_LOGGED])
            raise messaging.ExpectedException() from error

    def _endpoint_of(self, message: dict[str, Any]) -> Any:
        method, version = message["method"], message.get("version", "1.0")
        compatible = False
        for endpoint in self.endpoints:
            target = getattr(endpoint, "target", None) or self._default_target
            if self._is_namespace(target, message.get("namespace")) and self._is_compatible(target, version):
                compatible = True
                if hasattr(endpoint, method) and self.access_policy.is_allowed(endpoint, method):
                    return endpoint
        raise dispatcher.NoSuchMethod(method) if compatible else dispatcher.UnsupportedVersion(version, method=method)


def is_monitor_interval(seconds: Any) -> bool:
    """Return whether a caller with this monitor timeout can get heartbeats in time."""
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return is_number and MIN_MONITOR_S <= seconds <= MAX_MONITOR_S and math.isfinite(seconds)


class StrictServer(RPCServer):
    """oslo.messaging's RPC server with gantt's thread pool, and with tracebacks only for bugs."""

    def __init__(
        self, transport: RPCTransport, target: messaging.Target, dispatch: StrictDispatcher, executor: str | None = None
    ) -> None:
        super().__init__(transport, target, dispatch, executor)
        if self.executor_type == green.THREADING:
            self._executor_cls = functools.partial(ThreadPool, name=f"rpc {target.topic}")

    def _on_incoming(self, incoming: list[Any]) -> None:
        BACKLOG.add(self._target.topic, 1)
        try:
            super()._on_incoming(incoming)
        except RuntimeError:
            BACKLOG.add(self._target.topic, -1)
            raise

    def _process_incoming(self, incoming: list[Any]) -> None:
        BACKLOG.add(self._target.topic, -1)
        (message,) = incoming
        try:
            message.acknowledge()
        except Exception as error:
            LOG.warning("Not processing message %s: %s", message.msg_id, error)
            return
        with trace_receive(self.conf, message):
            self._answer(message)

    def _answer(self, message: Any) -> None:
        answer = failure = None
        try:
            answer = self.dispatcher.dispatch(message)
        except CallPostponed as postponed:
            if self._postpone(message):
                return
            failure = postponed.failure.exc_info
        except messaging.ExpectedException as expected:
            failure = expected.exc_info
        except Exception:
            failure = sys.exc_info()
            LOG.exception("Failed to process message %s", message.msg_id)
        try:
            self._reply(message, answer, failure)
        except Exception as error:
            LOG.error("Cannot send the reply to message %s: %s", message.msg_id, error)
        finally:
            # Break the reference cycle: the traceback refers to this frame.
            del failure

    def _postpone(self, message: Any) -> bool:
        """Schedule another run of a postponed call; return False if there will be none."""
        return False

    def _reply(self, message: Any, answer: Any, failure: Any) -> None:
        if failure is not None:
            message.reply(failure=failure)
            return
        try:
            message.reply(answer)
        except MessageTooLarge as error:
            LOG.error("Not sending the answer to message %s: %s", message.msg_id, error)
            refusal = errors.AnswerTooLarge(size=error.size, option=error.option, bound=error.bound)
            message.reply(failure=(type(refusal), refusal, None))
