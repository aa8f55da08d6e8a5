# SPDX-License-Identifier: Apache-2.0
"""What every versioned object of gantt shares."""

import copy
import functools
import json
from types import NoneType
from typing import Any

from oslo_versionedobjects import base, fields

from rpcapi import errors


class GanttObjectRegistry(base.VersionedObjectRegistry):
    """All objects that may cross the bus, by name and version."""


class GanttObject(base.VersionedObject):
    """A payload on the bus. Inside a service, dataclasses and arrays are used instead."""

    OBJ_PROJECT_NAMESPACE = "gantt"
    OBJ_SERIAL_NAMESPACE = "gantt_object"

    # Names of the columns that must be as long as each other; none for an object that is not a batch.
    COLUMNS: tuple[str, ...] = ()
    # Names of columns that are as long as those, or empty.
    SPARSE: tuple[str, ...] = ()

    def complete(self) -> "GanttObject":
        """Fill what a peer left out with defaults, check the whole, and return self.

        Raises MalformedObject when a field without a default is missing or the columns differ in length.
        """
        held = self.__dict__
        for name, attribute, field in self._layout():
            if attribute not in held:
                if field.default is fields.UnspecifiedDefault:
                    raise errors.MalformedObject(name=self.obj_name(), why=f"it lacks {name!r}")
                held[attribute] = _anew(field.default)
        lengths = {name: len(getattr(self, name)) for name in self.COLUMNS}
        lengths |= {name: len(told) for name in self.SPARSE if (told := getattr(self, name))}
        if len(set(lengths.values())) > 1:
            raise errors.MalformedObject(name=self.obj_name(), why=f"its columns differ in length: {lengths}")
        self._changed_fields.clear()
        return self

    @classmethod
    def _obj_from_primitive(cls, context: Any, objver: str, primitive: dict[str, Any]) -> "GanttObject":
        """Read a peer's object, and each object in it, whole: what an older peer did not know has its default."""
        made = cls()
        made._context = context
        told, held = cls._obj_primitive_field(primitive, "data"), made.__dict__
        for name, attribute, field in cls._layout():
            if name in told:
                held[attribute] = field.coerce(made, name, field.from_primitive(made, name, told[name]))
        return made.complete()

    def obj_to_primitive(
        self, target_version: str | None = None, version_manifest: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """Return what crosses the bus: a field that holds its default is left out, whoever reads puts it there."""
        if target_version not in (None, self.VERSION) or version_manifest or self._changed_fields:
            return super().obj_to_primitive(target_version, version_manifest)
        held = self.__dict__
        told = {
            name: field.to_primitive(self, name, held[attribute])
            for name, attribute, field in self._layout()
            if attribute in held and (field.default is fields.UnspecifiedDefault or held[attribute] != field.default)
        }
        return {
            f"{self.OBJ_SERIAL_NAMESPACE}.name": self.obj_name(),
            f"{self.OBJ_SERIAL_NAMESPACE}.namespace": self.OBJ_PROJECT_NAMESPACE,
            f"{self.OBJ_SERIAL_NAMESPACE}.version": self.VERSION,
            f"{self.OBJ_SERIAL_NAMESPACE}.data": told,
        }

    @classmethod
    def of(cls, **values: Any) -> Any:
        """Build a complete object from its fields; raises MalformedObject on an unknown one or a wrong value."""
        unknown = sorted(values.keys() - cls.fields.keys())
        if unknown:
            raise errors.MalformedObject(name=cls.obj_name(), why=f"it has no field {', '.join(unknown)}")
        made = cls()
        held = made.__dict__
        try:
            for name, attribute, field in cls._layout():
                if name in values:
                    held[attribute] = field.coerce(made, name, values[name])
        except (ValueError, TypeError) as error:
            raise errors.MalformedObject(name=cls.obj_name(), why=str(error)) from error
        return made.complete()

    @classmethod
    @functools.cache
    def _layout(cls) -> tuple[tuple[str, str, Any], ...]:
        """Return each field's name, the attribute that holds it, and the field.

        An object crosses the bus twice a call, at each end of it. oslo's own methods set each field through a property
        that looks up, compares and notes what changed: half of what a client's call cost.
        """
        return tuple((name, f"_obj_{name}", field) for name, field in cls.fields.items())


def _anew(default: Any) -> Any:
    """Return a default that is nobody else's; each is given as its field would coerce it."""
    return default if isinstance(default, (str, int, float, NoneType)) else copy.deepcopy(default)


class _Json(fields.FieldType):
    """Plain JSON data, carried as it is: no coercion an element, so that large columns stay cheap."""

    @staticmethod
    def coerce(obj: Any, attr: str, value: Any) -> Any:
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Field {attr} must hold plain JSON data: {error}") from error
        return value

    @staticmethod
    def from_primitive(obj: Any, attr: str, value: Any) -> Any:
        return value

    @staticmethod
    def to_primitive(obj: Any, attr: str, value: Any) -> Any:
        return value

    def get_schema(self) -> dict[str, Any]:
        return {"type": ["object", "array", "string", "number", "boolean", "null"]}


class JsonField(fields.AutoTypedField):
    """A field of plain JSON data whose shape its object's ``obj_check`` knows."""

    AUTO_TYPE = _Json()


class _Amounts(fields.FieldType):
    """A mapping of names to integers, taken as they are: oslo's own would make 1 of 1.9 and of "1"."""

    @staticmethod
    def coerce(obj: Any, attr: str, value: Any) -> Any:
        if not isinstance(value, dict) or any(type(k) is not str or type(v) is not int for k, v in value.items()):
            raise ValueError(f"Field {attr} must map names to integers")
        return dict(value)

    @staticmethod
    def from_primitive(obj: Any, attr: str, value: Any) -> Any:
        return value

    @staticmethod
    def to_primitive(obj: Any, attr: str, value: Any) -> Any:
        return value

    def get_schema(self) -> dict[str, Any]:
        return {"type": ["object"]}


class AmountsField(fields.AutoTypedField):
    """Amounts by resource class."""

    AUTO_TYPE = _Amounts()


class _Column(fields.FieldType):
    """A list of one plain type, checked in one pass."""

    def __init__(self, kind: type, nullable: bool = False) -> None:
        self.kinds = (kind, type(None)) if nullable else (kind,)

    def coerce(self, obj: Any, attr: str, value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or any(type(item) not in self.kinds for item in value):
            names = " or ".join(kind.__name__ for kind in self.kinds)
            raise ValueError(f"Field {attr} must be a list of {names}")
        return list(value)

    @staticmethod
    def from_primitive(obj: Any, attr: str, value: Any) -> Any:
        return value

    @staticmethod
    def to_primitive(obj: Any, attr: str, value: Any) -> Any:
        return value

    def get_schema(self) -> dict[str, Any]:
        return {"type": ["array"]}


class ColumnField(fields.AutoTypedField):
    """One column of a batch: element i of every column speaks of the batch's element i.

    Batches are columns, not lists of nested objects: an object's envelope costs more than a decision.
    """

    def __init__(self, kind: type, *, nullable_items: bool = False, **kwargs: Any) -> None:
        self.AUTO_TYPE = _Column(kind, nullable_items)
        super().__init__(**kwargs)

    def __repr__(self) -> str:
        """Name the items' type: an object's fingerprint must change with it."""
        return f"Column[{'|'.join(kind.__name__ for kind in self.AUTO_TYPE.kinds)}]({self._default!r})"
