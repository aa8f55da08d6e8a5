# SPDX-License-Identifier: Apache-2.0
"""Decorator of RPC methods: context, deadline, argument checks and errors."""

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

    Before the method runs:

    - The caller's context becomes the thread's current one, for the request id in logs. It stays current after the
      call, because the RPC server logs unexpected exceptions later.
    - A passed deadline raises DeadlinePassed.
    - Arguments that do not match the annotations raise MalformedObject.

    GanttErrors are returned to the caller. Any other exception is a bug; the RPC server logs its traceback.

    Optional hooks of the endpoint: ``_observe(method, code, seconds)`` is called after each call, with code "ok", that
    of the error, or "bug". ``_observe_late(method, ctxt, values)`` is called for requests past their deadline, with
    checked arguments.

    ``__wrapped__`` is the undecorated function. ``oslo_messaging.ExplicitRPCAccessPolicy`` checks the attribute
    ``exposed``.
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
            # Wrapped like this, the error reaches the caller unchanged and the server logs no traceback.
            raise messaging.ExpectedException() from error
        finally:
            observe = getattr(self, "_observe", None)
            if observe is not None:
                observe(method.__name__, code, time.perf_counter() - began)

    wrapper.exposed = True  # type: ignore[attr-defined]
    return wrapper
