# SPDX-License-Identifier: Apache-2.0
"""Flavors and images as documents that the scheduler stores for all clients."""

import urllib.parse
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from rpcapi import errors
from rpcapi.spec_builder.images import Image

Item = TypeVar("Item")


def merge(by_source: Mapping[str, Mapping[str, Item]]) -> dict[str, Item]:
    return {name: item for items in by_source.values() for name, item in items.items()}


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
