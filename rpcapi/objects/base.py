# SPDX-License-Identifier: Apache-2.0
"""Base class and field types of gantt's versioned objects."""

import functools
import json
from collections.abc import Iterator, Sequence
from typing import Any, Self

from oslo_versionedobjects import base, fields

from rpcapi import errors

# Fields of a page; the marker is None on the last page.
MARKER = {"marker": fields.StringField(nullable=True, default=None)}


class GanttObjectRegistry(base.VersionedObjectRegistry):
    """Registry of gantt's versioned objects."""


class GanttObject(base.VersionedObject):
    """Base of message payloads. Inside a service, use dataclasses and arrays."""

    OBJ_PROJECT_NAMESPACE = "gantt"
    OBJ_SERIAL_NAMESPACE = "gantt_object"

    def __init_subclass__(cls, *, registers: bool = True) -> None:
        super().__init_subclass__()
        if registers:
            GanttObjectRegistry.register(cls)

    def complete(self) -> Self:
        """Fill missing fields with defaults and check the columns' lengths. Raises MalformedObject."""
        attributes = self.__dict__
        for name, attribute, field in self._layout():
            if attribute not in attributes:
                if field.default is fields.UnspecifiedDefault:
                    raise errors.MalformedObject(name=self.obj_name(), why=f"field {name!r} is missing")
                attributes[attribute] = _copy_default(field.default)
        lengths = {
            name: len(attributes[attribute])
            for name, attribute, may_be_empty in self._columns()
            if attributes[attribute] or not may_be_empty
        }
        if len(set(lengths.values())) > 1:
            raise errors.MalformedObject(name=self.obj_name(), why=f"its columns differ in length: {lengths}")
        self._changed_fields.clear()
        return self

    @classmethod
    def _obj_from_primitive(cls, context: Any, objver: str, primitive: dict[str, Any]) -> Self:
        """Build from a peer's primitive; fields that an older peer does not know get their defaults."""
        instance = cls()
        instance._context = context
        data, attributes = cls._obj_primitive_field(primitive, "data"), instance.__dict__
        for name, attribute, field in cls._layout():
            if name in data:
                attributes[attribute] = field.coerce(instance, name, field.from_primitive(instance, name, data[name]))
        return instance.complete()

    def obj_to_primitive(
        self, target_version: str | None = None, version_manifest: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """Return the primitive for the bus, without fields at their default."""
        if target_version not in (None, self.VERSION) or version_manifest or self._changed_fields:
            primitive: dict[str, Any] = super().obj_to_primitive(target_version, version_manifest)
            return primitive
        values = self.values_set()
        data = {name: self.fields[name].to_primitive(self, name, value) for name, value in values.items()}
        return {
            f"{self.OBJ_SERIAL_NAMESPACE}.name": self.obj_name(),
            f"{self.OBJ_SERIAL_NAMESPACE}.namespace": self.OBJ_PROJECT_NAMESPACE,
            f"{self.OBJ_SERIAL_NAMESPACE}.version": self.VERSION,
            f"{self.OBJ_SERIAL_NAMESPACE}.data": data,
        }

    def values_set(self) -> dict[str, Any]:
        attributes = self.__dict__
        return {
            name: attributes[attribute]
            for name, attribute, field in self._layout()
            if attribute in attributes
            and (field.default is fields.UnspecifiedDefault or attributes[attribute] != field.default)
        }

    def with_values(self, **values: Any) -> Self:
        return self.of(**{**self.values_set(), **values})

    def rows(self, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Iterate over rows of the given columns; an empty column yields None."""
        values = [getattr(self, name) for name in columns]
        size = max(map(len, values))
        return zip(*(column or [None] * size for column in values), strict=True)

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Build a complete object; raises MalformedObject for an unknown field or invalid value."""
        unknown = sorted(values.keys() - cls.fields.keys())
        if unknown:
            raise errors.MalformedObject(name=cls.obj_name(), why=f"it has no field {', '.join(unknown)}")
        instance = cls()
        attributes = instance.__dict__
        try:
            for name, attribute, field in cls._layout():
                if name in values:
                    attributes[attribute] = field.coerce(instance, name, values[name])
        except (ValueError, TypeError) as error:
            raise errors.MalformedObject(name=cls.obj_name(), why=str(error)) from error
        return instance.complete()

    @classmethod
    @functools.cache
    def _layout(cls) -> tuple[tuple[str, str, Any], ...]:
        """Return (name, attribute, field) of each field, for conversion without oslo's slow properties."""
        return tuple((name, f"_obj_{name}", field) for name, field in cls.fields.items())

    @classmethod
    @functools.cache
    def _columns(cls) -> tuple[tuple[str, str, bool], ...]:
        return tuple(
            (name, attribute, field.default is not fields.UnspecifiedDefault)
            for name, attribute, field in cls._layout()
            if issubclass(type(field), Column)
        )


def check_actions(actions: Sequence[str], allowed: Sequence[str], numbers: Sequence[int], maximum: int) -> None:
    """Raise InvalidRequest for an unknown guest action, or a number outside 1 to ``maximum``."""
    for action in actions:
        if action not in allowed:
            raise errors.InvalidRequest(why=f"unknown action {action[:40]!r}; allowed: {', '.join(allowed)}")
    if any(not 1 <= number <= maximum for number in numbers):
        raise errors.InvalidRequest(why=f"numbers must be from 1 to {maximum}")


def _copy_default(default: Any) -> Any:
    return default.copy() if isinstance(default, (list, dict)) else default


class _Json(fields.FieldType):
    """Plain JSON data, without coercion of elements, so that large columns stay cheap."""

    @staticmethod
    def coerce(obj: Any, attr: str, value: Any) -> Any:
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Field {attr} must hold plain JSON data: {error}") from error
        return value


class JsonField(fields.AutoTypedField):
    AUTO_TYPE = _Json()


class _Amounts(fields.FieldType):
    """Mapping of names to integers, without coercion: oslo's type turns 1.9 and "1" into 1."""

    @staticmethod
    def coerce(obj: Any, attr: str, value: Any) -> Any:
        if not isinstance(value, dict) or any(type(k) is not str or type(v) is not int for k, v in value.items()):
            raise ValueError(f"Field {attr} must map names to integers")
        return dict(value)


class AmountsField(fields.AutoTypedField):
    AUTO_TYPE = _Amounts()


class _StrictInteger(fields.FieldType):
    """Integer without coercion: oslo's type turns True, 1.9 and "1" into 1."""

    @staticmethod
    def coerce(obj: Any, attr: str, value: Any) -> Any:
        if type(value) is not int:
            raise ValueError(f"Field {attr} must be an integer")
        return value


class StrictIntegerField(fields.AutoTypedField):
    AUTO_TYPE = _StrictInteger()


class _List(fields.FieldType):
    def __init__(self, kind: type, nullable: bool = False) -> None:
        self.kinds = (kind, type(None)) if nullable else (kind,)

    def coerce(self, obj: Any, attr: str, value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or not {*map(type, value)}.issubset(self.kinds):
            names = " or ".join(kind.__name__ for kind in self.kinds)
            raise ValueError(f"Field {attr} must be a list of {names}")
        return list(value)


class ListField(fields.AutoTypedField):
    def __init__(self, kind: type, *, nullable_items: bool = False, **kwargs: Any) -> None:
        self.AUTO_TYPE = _List(kind, nullable_items)
        super().__init__(**kwargs)

    def __repr__(self) -> str:
        """Include the item type, so that it changes the object's fingerprint."""
        items = "|".join(kind.__name__ for kind in self.AUTO_TYPE.kinds)
        return f"{type(self).__name__.removesuffix('Field')}[{items}]({self._default!r})"


class Column:
    """Mixin for fields that are columns of a batch: element i of every column belongs to row i.

    All columns of an object have equal lengths; a column with a default may be empty. Columns replace nested objects,
    whose envelopes would cost more than a decision.
    """


class ColumnField(Column, ListField):
    """Column of elements of one plain type."""


# Fields of a request for an action on each guest; a later request has higher numbers.
ACTIONS_ON_GUESTS = {
    "partition": fields.StringField(),
    "uuids": ColumnField(str),
    "attempts": ColumnField(int),
    "actions": ColumnField(str),
    "numbers": ColumnField(int),
}
