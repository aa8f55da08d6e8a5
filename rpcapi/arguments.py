# SPDX-License-Identifier: Apache-2.0
"""Are a call's arguments what the called method says it takes?"""

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from rpcapi import errors


class Arguments:
    """What one exposed method takes, from its signature: names, and the kinds that its annotations name.

    A peer's JSON may hold anything anywhere; a method body that would stumble over it need not look.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self._name = method.__name__
        self._signature = inspect.signature(method)
        hints = typing.get_type_hints(method)
        self._kinds = {name: _kinds(hints[name]) for name in self._signature.parameters if name in hints}

    def check(self, endpoint: Any, ctxt: Any, values: Mapping[str, Any]) -> None:
        """Raise MalformedObject for a missing or unknown argument, or one of another kind."""
        try:
            self._signature.bind(endpoint, ctxt, **values)
        except TypeError as error:
            raise errors.MalformedObject(name=f"call of {self._name}", why=str(error)) from error
        for name, value in values.items():
            kinds = self._kinds.get(name, (object,))
            if not isinstance(value, kinds) or (isinstance(value, bool) and not {bool, object} & set(kinds)):
                wanted = " or ".join(kind.__name__ for kind in kinds)
                raise errors.MalformedObject(
                    name=f"call of {self._name}", why=f"{name} is of type {type(value).__name__}, not {wanted}"
                )


def _kinds(hint: Any) -> tuple[type, ...]:
    """Return the classes that a value annotated with ``hint`` may be of, what is inside it left aside."""
    if hint is None:
        return (type(None),)
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return tuple(kind for each in typing.get_args(hint) for kind in _kinds(each))
    found = origin or hint
    return (found,) if isinstance(found, type) and found is not Any else (object,)
