# SPDX-License-Identifier: Apache-2.0
"""What the Placement API made at and below the providers of an agent, while the agent's reports change those."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.store.providers.changes import API, KIND, is_api_owned
from scheduler_svc.store.providers.plans import Document
from scheduler_svc.store.records import SCHEMA


@dataclass(frozen=True, slots=True)
class ApiProviders:
    """The Placement API's share in the trees of a service host, as a report of the host finds it.

    ``name_conflicts`` are new nodes of the report whose name a provider of the API has. For a full report ``below`` are
    the documents of the API's providers below nodes of the host, ``dropped`` those of the nodes it does not report any
    more; by id.
    """

    name_conflicts: Collection[str] = ()
    below: Mapping[str, Document] = field(default_factory=dict)
    dropped: Mapping[str, Document] = field(default_factory=dict)


NO_API_PROVIDERS = ApiProviders()


def check_names(api: ApiProviders) -> None:
    """Raise InvalidStats where a provider of the API has the name of a new node."""
    for name in sorted(api.name_conflicts):
        why = "a provider made by the Placement API has this name: rename or delete that one first"
        raise errors.InvalidStats(what=f"provider {name!r}", why=why)


def additions(before: Document, reported: Collection[str]) -> dict[str, Any]:
    """Return the parts of a node's document that a report leaves to the API, given the traits that it reports.

    They are ``aggregates``, and where the API added traits ``added_traits``, ``reported_traits``, and all ``traits``.
    """
    parts = {"aggregates": before["aggregates"]} if "aggregates" in before else {}
    added = before["traits"] if is_api_owned(before) else before.get("added_traits", ())
    if added:
        traits = {"added_traits": sorted(added), "reported_traits": sorted(reported)}
        parts |= {**traits, "traits": sorted({*reported, *added})}
    return parts


def reported_traits(before: Document) -> Collection[str]:
    """Return the traits that the last report of a node had."""
    return before.get("reported_traits", before["traits"])


def remaining(roots: Mapping[str, str], api: ApiProviders) -> dict[str, Document]:
    """Return the documents of the API's providers that a full report changes; ``roots`` are those of its nodes.

    A node that is no longer reported but has the API's providers below remains, empty, as a provider of the API. A
    provider gets another root where the node above it has one.
    """
    remnants: dict[str, Document] = {}
    for document in api.below.values():
        parent = document["parent"]
        while parent in api.dropped and parent not in remnants:
            remnants[parent] = _remnant(api.dropped[parent])
            parent = remnants[parent]["parent"]
    documents = {**remnants, **api.below}
    changed: dict[str, Document] = {}
    for name, document in documents.items():
        root = _root_of(name, documents, roots)
        if name in remnants or root != document["root"]:
            changed[name] = {**document, "root": root, "version": document["version"] + 1}
    return changed


def _remnant(node: Document) -> dict[str, Any]:
    """Return the document of a node that remains: what the API wrote, without what its agent reported."""
    aggregates = {"aggregates": node["aggregates"]} if "aggregates" in node else {}
    return {
        "schema": SCHEMA,
        "id": node["id"],
        "owner": API,
        "host": names.host_of(node["id"]),
        "kind": KIND,
        "root": node["root"],
        "parent": node["parent"],
        "inventories": {},
        "traits": node.get("added_traits", []),
        "version": node["version"],
        **aggregates,
    }


def _root_of(name: str, documents: Mapping[str, Document], roots: Mapping[str, str]) -> str:
    while name not in roots and documents[name]["parent"] is not None:
        name = documents[name]["parent"]
    return roots.get(name, name)
