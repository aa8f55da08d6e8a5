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
    """Return the items by name, each read when it is used; later sources take precedence."""
    # A ChainMap only writes to its first map; its type wants all of them mutable.
    return ChainMap(*(cast(MutableMapping[str, Item], items) for items in [*by_source.values()][::-1]))


def read_valid(items: Mapping[str, Item]) -> tuple[list[Item], list[errors.BadConfiguration]]:
    """Return the valid items, sorted by name, and an error per invalid item of the configuration."""
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
    """Return the document name of a flavor or image; escapes spaces and slashes in its name."""
    return urllib.parse.quote(name, safe="")


def image_document(image: Image) -> dict[str, Any]:
    """Return the document of an image; a null disk format removes the disk format of an earlier image."""
    return {**asdict(image), "id": image.id or image.name}


def read_documents(kind: type[Item], documents: Iterable[Mapping[str, Any]]) -> dict[str, Item]:
    """Return flavors or images by name; raises MalformedObject."""
    try:
        return {document["name"]: kind(**document) for document in documents}
    except (KeyError, TypeError) as error:
        raise errors.MalformedObject(name=f"document of kind {kind.__name__.lower()}", why=str(error)[:200]) from error
