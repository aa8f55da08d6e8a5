# SPDX-License-Identifier: Apache-2.0
"""What every method that peers may call does first, for all three services."""

import functools
import time
from collections.abc import Callable
from typing import Any

import oslo_messaging as messaging

from rpcapi import errors
from rpcapi.arguments import Arguments
from rpcapi.context import RequestContext

Method = Callable[..., Any]


def exposed(method: Method) -> Method:
    """Let peers call ``method(self, ctxt, ...)`` of an endpoint class.

    Before it runs the caller's context becomes the thread's current one, so that every log line carries the
    request id (the line that the RPC server writes about an unexpected exception too: the context is left in
    place, the next call replaces it). A request past its deadline raises DeadlinePassed, arguments that are not
    what the method's annotations say MalformedObject. Errors of our tree travel to the caller as answers; anything
    else is a bug, which the RPC server logs with its traceback.

    An endpoint that has a method ``_observe(method, code, seconds)`` is told of each call how it ended: ``code`` is
    "ok", an error's code, or "bug".

    The plain function stays reachable as ``__wrapped__``. The mark ``exposed`` is the one that
    ``oslo_messaging.ExplicitRPCAccessPolicy`` looks for.
    """
    arguments = Arguments(method)

    @functools.wraps(method)
    def served(self: Any, ctxt: RequestContext, **values: Any) -> Any:
        ctxt.update_store()
        began, code = time.perf_counter(), "bug"
        try:
            ctxt.check_deadline()
            arguments.check(self, ctxt, values)
            answer = method(self, ctxt, **values)
            code = "ok"
            return answer
        except errors.GanttError as error:
            code = error.code
            # Wrapped, it reaches the caller as it is, and the server logs no traceback.
            raise messaging.ExpectedException() from error
        finally:
            observe = getattr(self, "_observe", None)
            if observe is not None:
                observe(method.__name__, code, time.perf_counter() - began)

    served.exposed = True  # type: ignore[attr-defined]
    return served
