# SPDX-License-Identifier: Apache-2.0
"""Resource providers as JSON."""

import functools
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import orjson

from scheduler_svc.core.provider_uuids import uuid_of
from scheduler_svc.core.table.providers import ProviderRow
from scheduler_svc.placement.http.microversions import Microversion

TREES_SINCE = Microversion(1, 14)
_LINKS = (  # links to a provider's subresources, and since when
    ("inventories", Microversion(1, 0)),
    ("usages", Microversion(1, 0)),
    ("aggregates", Microversion(1, 1)),
    ("traits", Microversion(1, 6)),
    ("allocations", Microversion(1, 11)),
)
_PARTS = ("uuid", "name", "generation", "parent", "root")
_MARKERS = SimpleNamespace(**{name: f"\0{name}" for name in _PARTS})  # NUL cannot occur in a name or path


def as_document(provider: Any, prefix: str, version: Microversion) -> dict[str, Any]:
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


def as_list(providers: Iterable[tuple[ProviderRow, int]], prefix: str, version: Microversion) -> bytes:
    """Return the JSON of providers and generations, from a template because there may be thousands."""
    template = _template(prefix, version)
    documents = (
        template
        % {
            "uuid": uuid_of(row.id),
            "name": orjson.dumps(row.name).decode(),
            "generation": generation,
            "parent": "null" if row.parent is None else f'"{uuid_of(row.parent)}"',
            "root": uuid_of(row.root),
        }
        for row, generation in providers
    )
    return f'{{"resource_providers":[{",".join(documents)}]}}'.encode()


@functools.lru_cache
def _template(prefix: str, version: Microversion) -> str:
    text = orjson.dumps(as_document(_MARKERS, prefix, version)).decode().replace("%", "%%")
    for name in ("name", "generation", "parent"):
        text = text.replace(f'"\\u0000{name}"', f"%({name})s")
    for name in ("uuid", "root"):
        text = text.replace(f"\\u0000{name}", f"%({name})s")
    return text
