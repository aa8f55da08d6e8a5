# SPDX-License-Identifier: Apache-2.0
"""Decorator that exposes a method of an endpoint to RPC callers."""

import functools
import time
from collections.abc import Callable
from typing import Any

import oslo_messaging as messaging

from rpcapi import errors
from rpcapi.arguments import ArgumentChecker
from rpcapi.context import RequestContext

Method = Callable[..., Any]


def expose(method: Method) -> Method:
    """Expose ``method(self, ctxt, ...)`` of an endpoint class to RPC callers.

    The wrapper makes the context current and leaves it so, because the RPC server logs unexpected exceptions later. It
    raises DeadlinePassed after the deadline, and MalformedObject for arguments that do not match the annotations.

    Optional hooks of the endpoint: ``_observe(method, code, seconds)`` after each call, with code "ok", "bug" or the
    error's, and ``_observe_late(method, ctxt, values)`` for requests past their deadline, with checked arguments.
    """
    arguments = ArgumentChecker(method)

    def check_deadline(endpoint: Any, ctxt: RequestContext, values: dict[str, Any]) -> None:
        try:
            ctxt.check_deadline()
        except errors.DeadlinePassed:
            observe_late = getattr(endpoint, "_observe_late", None)
            if observe_late is not None:
                arguments.check(endpoint, ctxt, values)
                observe_late(method.__name__, ctxt, values)
            raise

    @functools.wraps(method)
    def wrapper(self: Any, ctxt: RequestContext, /, **values: Any) -> Any:
        ctxt.update_store()
        began, code = time.perf_counter(), "bug"
        try:
            check_deadline(self, ctxt, values)
            arguments.check(self, ctxt, values)
            answer = method(self, ctxt, **values)
            code = "ok"
            return answer
        except errors.GanttError as error:
            code = error.code
            # ExpectedException passes the error to the caller without a traceback in the server's log.
            raise messaging.ExpectedException() from error
        finally:
            observe = getattr(self, "_observe", None)
            if observe is not None:
                observe(method.__name__, code, time.perf_counter() - began)

    wrapper.exposed = True  # type: ignore[attr-defined]  # read by oslo.messaging's ExplicitRPCAccessPolicy
    return wrapper
