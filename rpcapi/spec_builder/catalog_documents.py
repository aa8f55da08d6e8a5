# SPDX-License-Identifier: Apache-2.0
"""Flavors and images as documents that the scheduler keeps for all clients."""

import urllib.parse
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from rpcapi import errors
from rpcapi.spec_builder.flavors import Flavor
from rpcapi.spec_builder.images import Image

Item = TypeVar("Item")


def merge(by_source: Mapping[str, Mapping[str, Item]]) -> dict[str, Item]:
    """Return the items of all sources by name; those of a later source take precedence."""
    return {name: item for items in by_source.values() for name, item in items.items()}


def find_sources(by_source: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the source of each item that ``merge`` returns, by name."""
    return {name: source for source, items in by_source.items() for name in items}


def document_name(name: str) -> str:
    """Return the name of the document of a flavor or an image, whose name may have spaces and slashes."""
    return urllib.parse.quote(name, safe="")


def flavor_document(flavor: Flavor) -> dict[str, Any]:
    """Return the document of a flavor."""
    return {**asdict(flavor), "extra_specs": dict(flavor.extra_specs)}


def flavor_of(document: Mapping[str, Any]) -> Flavor:
    """Return the flavor of a document; raises MalformedObject."""
    try:
        return Flavor(**document)
    except TypeError as error:
        raise errors.MalformedObject(name="document of a flavor", why=str(error)[:200]) from error


def image_document(image: Image) -> dict[str, Any]:
    """Return the document of an image; the null of an unknown disk format removes that of an image it replaces."""
    return {**asdict(image), "id": image.id or image.name, "properties": dict(image.properties)}


def image_of(document: Mapping[str, Any]) -> Image:
    """Return the image of a document; raises MalformedObject."""
    try:
        return Image(**document)
    except TypeError as error:
        raise errors.MalformedObject(name="document of an image", why=str(error)[:200]) from error
