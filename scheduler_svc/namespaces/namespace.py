# SPDX-License-Identifier: Apache-2.0
"""One namespace: its name, its one writer, and the schema of its documents."""

from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import referencing
from referencing.jsonschema import DRAFT202012

from rpcapi import errors

Schema = Mapping[str, Any]

SHOWN = 100  # characters of each end of a complaint: it may quote the whole document


class Namespace:
    """``schema`` is a JSON Schema (draft 2020-12); None: whoever keeps the documents checks them."""

    def __init__(self, name: str, writer: str, schema: Schema | None = None) -> None:
        """Raise ValueError for a schema that is none, or that refers to another file."""
        self.name = name
        self.writer = writer
        self._validator = None if schema is None else _validator(schema)

    def check_writer(self, writer: str) -> None:
        """Raise WriterRefused unless ``writer`` is the declared one."""
        if writer != self.writer:
            raise errors.WriterRefused(writer=writer, namespace=self.name, declared=self.writer)

    def check_document(self, name: str, document: Mapping[str, Any]) -> None:
        """Raise InvalidHostState where ``document``, of ``name``, is against the schema."""
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
    foreign = next((each for each in _references(schema) if not each.startswith("#")), None)
    if foreign is not None:
        raise ValueError(f"it refers to {foreign!r}, and only what is in the same file ('#/...') can be referred to")
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise ValueError(f"it is not a JSON Schema: {error.json_path}: {_short(error.message)}") from error
    # A registry of its own: the default one would fetch what it does not know from the network.
    registry: referencing.Registry[Schema] = referencing.Registry()
    resolver = registry.with_resource("", DRAFT202012.create_resource(schema)).resolver()
    for each in _references(schema):
        try:
            resolver.lookup(each)
        except referencing.exceptions.Unresolvable as error:
            raise ValueError(f"its reference {each!r} leads nowhere") from error
    return jsonschema.Draft202012Validator(schema, registry=registry)


def _references(part: Any) -> Iterator[str]:
    """Yield what the keywords of a schema refer to."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            if key in ("$ref", "$dynamicRef") and isinstance(value, str):
                yield value
            yield from _references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _references(value)


def _short(message: str) -> str:
    return message if len(message) <= 2 * SHOWN else f"{message[:SHOWN]} ... {message[-SHOWN:]}"
