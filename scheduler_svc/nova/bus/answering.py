# SPDX-License-Identifier: Apache-2.0
"""Decorator of methods that Nova calls: errors become Nova's exceptions."""

import functools
import time
from collections.abc import Callable
from typing import Any

import oslo_messaging as messaging
from oslo_log import log

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.messaging.postponement import CallPostponed
from rpcapi.resources import transient
from scheduler_svc import metrics
from scheduler_svc.nova.bus.exceptions import NovaError, nova_error

LOG = log.getLogger(__name__)

PREFIX = "nova."  # prefix of the methods in metrics
Method = Callable[..., Any]


def answers_nova(method: Method) -> Method:
    """Expose ``method(self, ctxt, ...)`` to Nova, with metrics. Transient refusals raise CallPostponed."""

    @functools.wraps(method)
    def wrapper(self: Any, ctxt: RequestContext, /, **values: Any) -> Any:
        ctxt.update_store()
        began, code = time.perf_counter(), "bug"
        try:
            answer = method(self, ctxt, **values)
            code = "ok"
            return answer
        except (errors.GanttError, NovaError) as error:
            code = error.code if isinstance(error, errors.GanttError) else "no_valid_host"
            cause = error.__cause__ if isinstance(error, NovaError) and error.__cause__ else error
            if transient.may_pass(cause):
                raise CallPostponed(_nova_failure(error)) from None
            raise _nova_failure(error) from None
        finally:
            metrics.CALLS.labels(method=PREFIX + method.__name__, code=code).inc()
            metrics.CALL_SECONDS.labels(method=PREFIX + method.__name__).observe(time.perf_counter() - began)

    wrapper.exposed = True  # type: ignore[attr-defined]
    return wrapper


def _nova_failure(error: errors.GanttError | NovaError) -> messaging.ExpectedException:
    LOG.info("Refused: %s", error.__cause__ or error)
    try:
        raise error if isinstance(error, NovaError) else nova_error(error)
    except NovaError:
        # ExpectedException passes the error to the caller without a traceback in the server's log.
        return messaging.ExpectedException()
