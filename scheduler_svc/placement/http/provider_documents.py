# SPDX-License-Identifier: Apache-2.0
"""JSON of resource providers, from a template, because a list may have thousands of them."""

import functools
from collections.abc import Iterable

import orjson

from scheduler_svc.core.provider_uuids import uuid_of
from scheduler_svc.core.table.providers import ProviderRow
from scheduler_svc.store.providers.changes import ProviderState

TREES_SINCE = 14
_LINKS = (  # (link to a provider's subresource, first minor microversion)
    ("inventories", 0),
    ("usages", 0),
    ("aggregates", 1),
    ("traits", 6),
    ("allocations", 11),
)


def to_json(provider: ProviderRow | ProviderState, generation: int, prefix: str, version: int) -> str:
    return _template(prefix, version) % {
        "uuid": uuid_of(provider.id),
        "name": orjson.dumps(provider.name).decode(),
        "generation": generation,
        "parent": "null" if provider.parent is None else f'"{uuid_of(provider.parent)}"',
        "root": uuid_of(provider.root),
    }


def as_list(providers: Iterable[tuple[ProviderRow, int]], prefix: str, version: int) -> bytes:
    documents = (to_json(row, generation, prefix, version) for row, generation in providers)
    return f'{{"resource_providers":[{",".join(documents)}]}}'.encode()


@functools.lru_cache
def _template(prefix: str, version: int) -> str:
    path = f"{prefix.replace('%', '%%')}/resource_providers/%(uuid)s"
    below = [name for name, since in _LINKS if version >= since]
    document = {
        "uuid": "%(uuid)s",
        "name": "%(name)s",
        "generation": "%(generation)s",
        "links": [{"rel": "self", "href": path}, *({"rel": name, "href": f"{path}/{name}"} for name in below)],
    }
    if version >= TREES_SINCE:
        document |= {"parent_provider_uuid": "%(parent)s", "root_provider_uuid": "%(root)s"}
    text = orjson.dumps(document).decode()
    for name in ("name", "generation", "parent"):  # values that are already JSON, with quotes if they need any
        text = text.replace(f'"%({name})s"', f"%({name})s")
    return text
