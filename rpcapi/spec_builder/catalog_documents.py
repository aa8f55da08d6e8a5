# SPDX-License-Identifier: Apache-2.0
"""Flavors and images as documents that the scheduler stores for all clients."""

import urllib.parse
from collections import ChainMap
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import asdict
from typing import Any, TypeVar, cast

from rpcapi import errors
from rpcapi.spec_builder.images import Image

Item = TypeVar("Item")


def merge(by_source: Mapping[str, Mapping[str, Item]]) -> Mapping[str, Item]:
    """Return a lazy mapping of items by name; later sources take precedence."""
    # ChainMap writes only to its first map, but is typed for mutable maps.
    return ChainMap(*(cast(MutableMapping[str, Item], items) for items in [*by_source.values()][::-1]))


def read_valid(items: Mapping[str, Item]) -> tuple[list[Item], list[errors.BadConfiguration]]:
    """Return (valid items ordered by name, errors of invalid items, which only the configuration may have)."""
    valid: list[Item] = []
    invalid: list[errors.BadConfiguration] = []
    for name in sorted(items):
        try:
            valid.append(items[name])
        except errors.BadConfiguration as error:
            invalid.append(error)
    return valid, invalid


def find_sources(by_source: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    return {name: source for source, items in by_source.items() for name in items}


def document_name(name: str) -> str:
    """Escape an item's name, which may have spaces and slashes, as a document name."""
    return urllib.parse.quote(name, safe="")


def image_document(image: Image) -> dict[str, Any]:
    """Return the image's document; a null disk format removes an earlier image's disk format."""
    return {**asdict(image), "id": image.id or image.name}


def read_documents(kind: type[Item], documents: Iterable[Mapping[str, Any]]) -> dict[str, Item]:
    try:
        return {document["name"]: kind(**document) for document in documents}
    except (KeyError, TypeError) as error:
        raise errors.MalformedObject(name=f"document of kind {kind.__name__.lower()}", why=str(error)[:200]) from error
