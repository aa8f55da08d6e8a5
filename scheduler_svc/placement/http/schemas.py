# SPDX-License-Identifier: Apache-2.0
"""JSON Schemas of request bodies and query strings, by kind of resource and microversion.

Patterns and limits are Placement's, because clients match validation errors, which quote the schemas. Several
microversions are pairs (first minor microversion, schema), latest first.
"""

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


def whole(properties: Schema) -> Schema:
    """Return the schema of an object with all these properties and no others."""
    return fields(properties, list(properties))


def _mapping(pattern: str, values: Schema, minimum: int = 1) -> Schema:
    return {
        "type": "object",
        "minProperties": minimum,
        "patternProperties": {pattern: values},
        "additionalProperties": False,
    }


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
    schema = {**fields(properties, required), **({"patternProperties": patterns} if patterns else {})}
    return Validator(schema, jsonschema.FormatChecker(("uuid",)))


_NAME = {"name": {"type": "string", "maxLength": 200}}
_PARENT = {"parent_provider_uuid": {"anyOf": [UUID, {"type": "null"}]}}

NEW_PROVIDER = body(fields({**_NAME, "uuid": UUID}, ["name"]))
NEW_PROVIDER_1_14 = body(fields({**_NAME, "uuid": UUID, **_PARENT}, ["name"]))
PROVIDER = body(fields(_NAME, ["name"]))
PROVIDER_1_14 = body(fields({**_NAME, **_PARENT}, ["name"]))

_FILTERS = {"name": once(TEXT), "uuid": once(UUID)}
_FILTERS_1_3 = {**_FILTERS, "member_of": repeatable(TEXT)}
_FILTERS_1_4 = {**_FILTERS_1_3, "resources": once(TEXT)}
_FILTERS_1_14 = {**_FILTERS_1_4, "in_tree": once(UUID)}
_FILTERS_1_18 = {**_FILTERS_1_14, "required": repeatable(TEXT)}

PROVIDERS_QUERY = (
    (18, query(_FILTERS_1_18)),
    (14, query(_FILTERS_1_14)),
    (4, query(_FILTERS_1_4)),
    (3, query(_FILTERS_1_3)),
    (0, query(_FILTERS)),
)

_AGGREGATES = {"type": "array", "items": UUID, "uniqueItems": True}

AGGREGATES = body(_AGGREGATES)
AGGREGATES_1_19 = body(whole({"aggregates": _AGGREGATES, "resource_provider_generation": INTEGER}))


def _amount(minimum: int) -> dict[str, object]:
    return {"type": "integer", "maximum": MAX_INTEGER, "minimum": minimum}


_INVENTORY = {
    "resource_provider_generation": INTEGER,
    "total": _amount(1),
    "reserved": _amount(0),
    "min_unit": _amount(1),
    "max_unit": _amount(1),
    "step_size": _amount(1),
    "allocation_ratio": {"type": "number", "maximum": MAX_RATIO},
}

NEW_INVENTORY = body(
    fields({**_INVENTORY, "resource_class": {"type": "string", "pattern": NAME_PATTERN}}, ["total", "resource_class"])
)
INVENTORY = body(fields(_INVENTORY, ["total", "resource_provider_generation"]))
_ALL_INVENTORIES = whole(
    {
        "resource_provider_generation": INTEGER,
        "inventories": {"type": "object", "patternProperties": {NAME_PATTERN: fields(_INVENTORY, ["total"])}},
    }
)
INVENTORIES = body(_ALL_INVENTORIES)

_TRAIT = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}

CUSTOM_TRAIT = body({**_TRAIT, "pattern": CUSTOM_PATTERN})
TRAITS = body(whole({"traits": {"type": "array", "items": _TRAIT}, "resource_provider_generation": INTEGER}))
TRAITS_QUERY = ((0, query({"name": once(TEXT), "associated": once(TEXT)})),)
RESOURCE_CLASS = body(whole({"name": {"type": "string", "pattern": CUSTOM_PATTERN, "maxLength": MAX_NAME}}))

_UUID_PATTERN = "^[0-9a-fA-F-]{36}$"

_AMOUNTS = _mapping(NAME_PATTERN, {"type": "integer", "minimum": 1})
_OWNER: Schema = {"type": "string", "minLength": 1, "maxLength": 255}
_ALLOCATION_LIST: Schema = {
    "type": "array",
    "minItems": 1,
    "items": whole({"resource_provider": whole({"uuid": UUID}), "resources": _AMOUNTS}),
}
_PROJECT_AND_USER = {"project_id": _OWNER, "user_id": _OWNER}
_PROVIDER = fields({"generation": INTEGER, "resources": _AMOUNTS}, ["resources"])
_GENERATION = {"consumer_generation": {"type": ["integer", "null"]}}
_MAPPINGS: Schema = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {"[a-zA-Z0-9_-]{1,64}": {"type": "array", "minItems": 1, "items": UUID}},
}
_CONSUMER_TYPE: Schema = {"type": "string", "pattern": NAME_PATTERN, "minLength": 1, "maxLength": 255}


def _consumer(minimum: int, extra: Schema, required: tuple[str, ...] = ()) -> Schema:
    owned = {"allocations": _mapping(_UUID_PATTERN, _PROVIDER, minimum), **_PROJECT_AND_USER}
    return fields({**owned, **extra}, [*owned, *required])


_MAPPED = {**_GENERATION, "mappings": _MAPPINGS}
_CONSUMER = (
    (38, _consumer(0, {**_MAPPED, "consumer_type": _CONSUMER_TYPE}, ("consumer_generation", "consumer_type"))),
    (34, _consumer(0, _MAPPED, ("consumer_generation",))),
    (28, _consumer(0, _GENERATION, ("consumer_generation",))),
)
ALLOCATIONS = (
    *((minor, body(schema)) for minor, schema in _CONSUMER),
    (12, body(_consumer(1, {}))),
    (8, body(whole({"allocations": _ALLOCATION_LIST, **_PROJECT_AND_USER}))),
    (0, body(whole({"allocations": _ALLOCATION_LIST}))),
)
_OF_MANY = tuple((minor, _mapping(_UUID_PATTERN, schema)) for minor, schema in (*_CONSUMER, (13, _consumer(0, {}))))
ALLOCATIONS_OF_MANY = tuple((minor, body(schema)) for minor, schema in _OF_MANY)


NUMBER = "[1-9][0-9]*"  # pattern of a request group's suffix
SUFFIX = "[a-zA-Z0-9_-]{1,64}"  # the pattern since microversion 1.33
_MAX_DIGITS = 18

_RESOURCES = {"resources": once(TEXT)}
_REQUIRED = {"required": repeatable(TEXT)}
_MEMBER_OF = {"member_of": repeatable(TEXT)}
_LIMIT = {"limit": repeatable({"type": "string", "pattern": "^[1-9][0-9]*$", "maxLength": _MAX_DIGITS})}
_POLICY = {"group_policy": repeatable({"type": "string", "enum": ["none", "isolate"]})}
_ROOT_REQUIRED = {"root_required": once(TEXT)}
_SAME_SUBTREE = {"same_subtree": repeatable(TEXT)}
_GROUPS_1_25 = {**_RESOURCES, **_REQUIRED, **_MEMBER_OF}
_GROUPS_1_31 = {**_GROUPS_1_25, "in_tree": once(TEXT)}


def _patterns(parameters: Schema, suffix: str) -> Schema:
    return {f"^{name}({suffix})?$": schema for name, schema in parameters.items()}


CANDIDATES_QUERY = (
    (36, query({**_LIMIT, **_POLICY, **_ROOT_REQUIRED, **_SAME_SUBTREE}, patterns=_patterns(_GROUPS_1_31, SUFFIX))),
    (35, query({**_LIMIT, **_POLICY, **_ROOT_REQUIRED}, patterns=_patterns(_GROUPS_1_31, SUFFIX))),
    (33, query({**_LIMIT, **_POLICY}, patterns=_patterns(_GROUPS_1_31, SUFFIX))),
    (31, query({**_LIMIT, **_POLICY}, patterns=_patterns(_GROUPS_1_31, NUMBER))),
    (25, query({**_LIMIT, **_POLICY}, patterns=_patterns(_GROUPS_1_25, NUMBER))),
    (21, query({**_RESOURCES, **_LIMIT, **_REQUIRED, **_MEMBER_OF}, ["resources"])),
    (17, query({**_RESOURCES, **_LIMIT, **_REQUIRED}, ["resources"])),
    (16, query({**_RESOURCES, **_LIMIT}, ["resources"])),
    (0, query(_RESOURCES, ["resources"])),
)


_USAGE_OWNERS = {"project_id": once(_OWNER), "user_id": once(_OWNER)}
_CONSUMER_TYPES = {**_CONSUMER_TYPE, "pattern": f"{NAME_PATTERN}|^all|^unknown$"}
USAGES_QUERY = (
    (38, query({**_USAGE_OWNERS, "consumer_type": once(_CONSUMER_TYPES)}, ["project_id"])),
    (9, query(_USAGE_OWNERS, ["project_id"])),
)


def _reshape(consumers: Schema) -> Validator:
    inventories = _mapping(_UUID_PATTERN, _ALL_INVENTORIES)
    return body(whole({"inventories": inventories, "allocations": {**consumers, "minProperties": 0}}))


RESHAPE: Versioned = tuple((minor, _reshape(consumers)) for minor, consumers in _OF_MANY if minor >= 28)
