# SPDX-License-Identifier: Apache-2.0
"""Namespace of host state: its name, its only writer, and its document schema."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jsonschema
import referencing
from referencing.jsonschema import DRAFT202012

from rpcapi import errors

Schema = Mapping[str, Any]

SHOWN = 100  # characters to keep from each end of a validation message, which may quote the whole document


def object_schema(properties: Schema, required: Sequence[str] = (), *, is_open: bool = False) -> Schema:
    """Return the schema of objects with these properties. Only an open schema allows others."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": is_open}


class Namespace:
    """Namespace of host state; its documents match a JSON Schema (draft 2020-12), or are validated elsewhere."""

    def __init__(self, name: str, writer: str, schema: Schema | None = None) -> None:
        """Raise ValueError if the schema is invalid or refers to another file."""
        self.name = name
        self.writer = writer
        self._validator = None if schema is None else _validator(schema)

    def check_writer(self, writer: str) -> None:
        if writer != self.writer:
            raise errors.WriterRefused(writer=writer, namespace=self.name, declared=self.writer)

    def check_document(self, name: str, document: Mapping[str, Any]) -> None:
        """Raise InvalidHostState if the ``document`` of host ``name`` violates the schema."""
        if self._validator is None:
            return
        try:
            worst = jsonschema.exceptions.best_match(self._validator.iter_errors(document))
        except RecursionError as error:
            raise errors.InvalidHostState(name=name, namespace=self.name, why="it is nested too deeply") from error
        if worst is not None:
            where = worst.json_path.removeprefix("$").removeprefix(".") or "the document"
            raise errors.InvalidHostState(name=name, namespace=self.name, why=f"{where}: {_short(worst.message)}")


def _validator(schema: Schema) -> jsonschema.Draft202012Validator:
    external_reference = next((reference for reference in _references(schema) if not reference.startswith("#")), None)
    if external_reference is not None:
        raise ValueError(f"it refers to {external_reference!r}; only references within the file ('#/...') are allowed")
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise ValueError(f"it is not a JSON Schema: {error.json_path}: {_short(error.message)}") from error
    # The default registry would fetch unknown references from the network.
    registry: referencing.Registry[Schema] = referencing.Registry()
    resolver = registry.with_resource("", DRAFT202012.create_resource(schema)).resolver()
    for reference in _references(schema):
        try:
            resolver.lookup(reference)
        except referencing.exceptions.Unresolvable as error:
            raise ValueError(f"its reference {reference!r} cannot be resolved") from error
    return jsonschema.Draft202012Validator(schema, registry=registry)


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key in ("$ref", "$dynamicRef") and isinstance(value, str):
                yield value
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _short(message: str) -> str:
    return message if len(message) <= 2 * SHOWN else f"{message[:SHOWN]} ... {message[-SHOWN:]}"
