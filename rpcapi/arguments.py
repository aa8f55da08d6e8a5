# SPDX-License-Identifier: Apache-2.0
"""Checks of RPC arguments against method signatures."""

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from rpcapi import errors

MAX_SHOWN_ERROR = 200  # characters of Python's error, which quotes the peer's argument names


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
