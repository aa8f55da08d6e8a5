# SPDX-License-Identifier: Apache-2.0
"""Validators of JSON Schemas, each compiled once, and common parts of schemas."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import fastjsonschema
import jsonschema
from oslo_utils import uuidutils

Schema = Mapping[str, Any]

MAX_INTEGER = 0x7FFFFFFF  # largest amount in Placement's database
MAX_RATIO = 3.40282e38  # largest single-precision number
MAX_NAME = 255  # characters of a trait or resource class name

NAME_PATTERN = "^[A-Z0-9_]+$"
CUSTOM_PATTERN = "^CUSTOM_[A-Z0-9_]+$"

INTEGER: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string"}
UUID: Schema = {"type": "string", "format": "uuid"}


class Validator:
    """Validator of a JSON Schema: fastjsonschema decides, jsonschema words the errors.

    Only fastjsonschema follows the standard for ``$``, which must not match before a final line break.
    """

    def __init__(self, schema: Schema, formats: jsonschema.FormatChecker) -> None:
        self.schema = schema
        self._validator = jsonschema.Draft202012Validator(schema, format_checker=formats)

    def iter_errors(self, value: Any) -> Iterator[jsonschema.ValidationError]:
        if not self.is_valid(value):
            errors = self._validator.iter_errors(value)
            yield next(errors, jsonschema.ValidationError("A value ends with a line break", instance=value))
            yield from errors

    def is_valid(self, value: Any) -> bool:
        """Return whether a document satisfies the schema; takes a thirtieth of jsonschema's time."""
        try:
            self._check(value)
        except fastjsonschema.JsonSchemaValueException:
            return False
        return True

    @cached_property
    def _check(self) -> Callable[[Any], Any]:
        checker = self._validator.format_checker
        formats = {name: partial(checker.conforms, format=name) for name in checker.checkers} if checker else {}
        check: Callable[[Any], Any] = fastjsonschema.compile(
            dict(self.schema), formats=formats, use_default=False, detailed_exceptions=False
        )
        return check


Versioned = Sequence[tuple[int, Validator]]  # (first minor microversion, validator), latest first

_BODY_FORMATS = jsonschema.FormatChecker(())


@_BODY_FORMATS.checks("uuid")
def _is_uuid(value: object) -> bool:
    """Return whether a string is a UUID, even without dashes, which query strings require."""
    return not isinstance(value, str) or bool(uuidutils.is_uuid_like(value))


def fields(properties: Schema, required: Sequence[str] = ()) -> Schema:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": list(required)} if required else {})


def of_version(validators: Versioned, version: int) -> Validator:
    return next(validator for minor, validator in validators if version >= minor)


def body(schema: Schema) -> Validator:
    return Validator(schema, _BODY_FORMATS)


def repeatable(value: Schema) -> Schema:
    """Return the schema of a query parameter that may be repeated with valid ``value``."""
    return {"type": "array", "items": value}


def once(value: Schema) -> Schema:
    return {**repeatable(value), "maxItems": 1}


def query(properties: Schema, required: Sequence[str] = (), patterns: Schema | None = None) -> Validator:
    """Return a query string's validator. ``patterns`` maps patterns of further parameter names to schemas."""
    schema = fields(properties, required)
    if patterns:
        schema = {**schema, "patternProperties": patterns}
    return Validator(schema, jsonschema.FormatChecker(("uuid",)))
