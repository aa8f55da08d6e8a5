# SPDX-License-Identifier: Apache-2.0
"""Decorator that exposes a method of an endpoint to RPC callers, with checked arguments."""

import functools
import inspect
import time
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

import oslo_messaging as messaging

from rpcapi import errors
from rpcapi.context import RequestContext

MAX_SHOWN_ERROR = 200  # characters of Python's error, which quotes the peer's argument names
Method = Callable[..., Any]


class ArgumentChecker:
    """Checker of one method's arguments, since a peer may send any JSON. Raises MalformedObject."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._name = method.__name__
        self._signature = inspect.signature(method)
        hints = typing.get_type_hints(method)
        self._kinds = {name: _kinds(hints[name]) for name in self._signature.parameters if name in hints}

    def check(self, endpoint: Any, ctxt: Any, values: Mapping[str, Any]) -> None:
        try:
            self._signature.bind(endpoint, ctxt, **values)
        except TypeError as error:
            raise errors.MalformedObject(name=f"call of {self._name}", why=str(error)[:MAX_SHOWN_ERROR]) from error
        for name, value in values.items():
            kinds = self._kinds.get(name, (object,))
            if not isinstance(value, kinds) or (isinstance(value, bool) and not {bool, object} & set(kinds)):
                expected = " or ".join(kind.__name__ for kind in kinds)
                raise errors.MalformedObject(
                    name=f"call of {self._name}", why=f"{name} must be of type {expected}, not {type(value).__name__}"
                )


def _kinds(hint: Any) -> tuple[type, ...]:
    """Return the classes that an annotation allows, ignoring element types."""
    if hint is None:
        return (type(None),)
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return tuple(kind for argument in typing.get_args(hint) for kind in _kinds(argument))
    runtime_type = origin or hint
    return (runtime_type,) if isinstance(runtime_type, type) and runtime_type is not Any else (object,)


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
