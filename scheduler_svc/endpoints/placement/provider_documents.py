# SPDX-License-Identifier: Apache-2.0
"""Resource providers as JSON."""

import functools
from collections.abc import Iterable
from typing import Any

import orjson

from scheduler_svc.endpoints.placement.microversions import Microversion
from scheduler_svc.placement.providers import ListedProvider

TREES_SINCE = Microversion(1, 14)
_LINKS = (  # to what is below a provider, and since when
    ("inventories", Microversion(1, 0)),
    ("usages", Microversion(1, 0)),
    ("aggregates", Microversion(1, 1)),
    ("traits", Microversion(1, 6)),
    ("allocations", Microversion(1, 11)),
)
_MARKERS = ListedProvider._make(f"\0{name}" for name in ListedProvider._fields)  # no name or path has a NUL


def as_document(provider: Any, prefix: str, version: Microversion) -> dict[str, Any]:
    """Return a provider, shown or listed; the path ``prefix`` begins its links."""
    path = f"{prefix}/resource_providers/{provider.uuid}"
    below = [name for name, since in _LINKS if version >= since]
    document = {
        "uuid": provider.uuid,
        "name": provider.name,
        "generation": provider.generation,
        "links": [{"rel": "self", "href": path}, *({"rel": name, "href": f"{path}/{name}"} for name in below)],
    }
    if version >= TREES_SINCE:
        document |= {"parent_provider_uuid": provider.parent, "root_provider_uuid": provider.root}
    return document


def as_list(providers: Iterable[ListedProvider], prefix: str, version: Microversion) -> bytes:
    """Return the JSON of a list of providers: a template that is filled for each, as there may be many thousands."""
    template = _template(prefix, version)
    documents = (
        template
        % {
            "uuid": provider.uuid,
            "name": orjson.dumps(provider.name).decode(),
            "generation": provider.generation,
            "parent": "null" if provider.parent is None else f'"{provider.parent}"',
            "root": provider.root,
        }
        for provider in providers
    )
    return f'{{"resource_providers":[{",".join(documents)}]}}'.encode()


@functools.lru_cache
def _template(prefix: str, version: Microversion) -> str:
    """Return the document of any provider, in which values are to be filled in by name."""
    text = orjson.dumps(as_document(_MARKERS, prefix, version)).decode().replace("%", "%%")
    for name in ("name", "generation", "parent"):
        text = text.replace(f'"\\u0000{name}"', f"%({name})s")
    for name in ("uuid", "root"):
        text = text.replace(f"\\u0000{name}", f"%({name})s")
    return text
