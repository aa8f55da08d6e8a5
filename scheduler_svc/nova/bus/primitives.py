# SPDX-License-Identifier: Apache-2.0
"""Reader of Nova's versioned objects from their primitives.

Nova adds fields in minor versions and removes them only in major ones. So unknown fields are ignored in all minor
versions, and no object needs a backport by Nova's conductor.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from rpcapi import errors
from rpcapi.validation.text import abbreviate

PREFIX = "nova_object"
DATA = f"{PREFIX}.data"
NAMESPACE = "nova"
MAX_ELEMENTS = 10_000  # Limit of a list or a mapping.

T = TypeVar("T")


class _Required:
    """Marker for the default of a field that must be set."""


REQUIRED: Final = _Required()


@dataclass(frozen=True, slots=True)
class NovaFields:
    """Fields of one object. Methods return the default for unset or null fields, and raise MalformedObject."""

    name: str
    data: Mapping[str, Any]

    def integer(self, key: str, default: int | _Required = REQUIRED) -> int:
        value: int = self._value(key, int, default)
        if isinstance(value, bool) or value < 0:
            raise self.malformed(key, f"must be a non-negative integer, not {abbreviate(value)}")
        return value

    def text(self, key: str, default: str | _Required = "") -> str:
        value: str = self._value(key, str, default)
        return value

    def flag(self, key: str) -> bool:
        value: bool = self._value(key, bool, False)
        return value

    def texts(self, key: str) -> list[str]:
        values: list[str] = self.elements(key)
        wrong = [value for value in values if not isinstance(value, str)]
        if wrong:
            raise self.malformed(key, f"must contain strings only, not {abbreviate(wrong[0])}")
        return values

    def lists_of_texts(self, key: str) -> list[list[str]]:
        return [NovaFields(self.name, {key: values}).texts(key) for values in self.elements(key)]

    def mapping(self, key: str) -> Mapping[str, Any]:
        value: Mapping[str, Any] = self._value(key, dict, {})
        if len(value) > MAX_ELEMENTS or not all(isinstance(name, str) for name in value):
            raise self.malformed(key, f"must have at most {MAX_ELEMENTS} keys, all of them strings")
        return value

    def object(self, key: str, name: str) -> "NovaFields | None":
        """Return the object in a field, None if unset. Also raises IncompatibleObject."""
        value = self.data.get(key)
        return None if value is None else read(value, name)

    def objects(self, key: str, name: str) -> "list[NovaFields]":
        """Return the list of objects in a field, [] if unset. Also raises IncompatibleObject."""
        return [read(value, name) for value in self.elements(key)]

    def malformed(self, key: str, why: str) -> errors.MalformedObject:
        return errors.MalformedObject(name=self.name, why=f"{key} {why}")

    def elements(self, key: str) -> list[Any]:
        values: list[Any] = self._value(key, list, [])
        if len(values) > MAX_ELEMENTS:
            raise self.malformed(key, f"may contain at most {MAX_ELEMENTS} elements, got {len(values)}")
        return values

    def _value(self, key: str, kind: type[T], default: T | _Required) -> T:
        value = self.data.get(key)
        if value is None:
            if isinstance(default, _Required):
                raise self.malformed(key, "is missing")
            return default
        if not isinstance(value, kind):
            raise self.malformed(key, f"must be of type {kind.__name__}, not {abbreviate(value)}")
        return value


def read(primitive: Any, name: str, major: int = 1) -> NovaFields:
    """Return the fields of an object of this name and version. Raises MalformedObject, IncompatibleObject."""
    is_object = isinstance(primitive, dict)
    actual_name = primitive.get(f"{PREFIX}.name") if is_object else primitive
    if not is_object or actual_name != name:
        raise errors.MalformedObject(name=f"{name} of Nova", why=f"it is {abbreviate(actual_name)}")
    version, data = primitive.get(f"{PREFIX}.version"), primitive.get(DATA)
    if not isinstance(version, str) or not isinstance(data, dict):
        raise errors.MalformedObject(name=f"{name} of Nova", why="it has no version or no data")
    if version.partition(".")[0] != str(major):
        raise errors.IncompatibleObject(name=f"Nova's {name}", version=abbreviate(version), supported=f"{major}.x")
    return NovaFields(f"{name} of Nova", data)
