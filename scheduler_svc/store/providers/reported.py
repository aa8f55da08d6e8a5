# SPDX-License-Identifier: Apache-2.0
"""The Placement API's additions to agents' provider trees, which agents' reports must keep."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.store.providers.changes import API, KIND, Document, is_api_owned
from scheduler_svc.store.records import SCHEMA


@dataclass(frozen=True, slots=True)
class ApiProviders:
    """API-owned providers that one report of a service host affects.

    Attributes:
        name_conflicts: New nodes of the report with the name of an API-owned provider.
        below: {id: document} of API-owned providers below the host's nodes; only for full reports.
        dropped: {id: document} of the host's nodes that the report no longer has; only for full reports.
    """

    name_conflicts: Collection[str] = ()
    below: Mapping[str, Document] = field(default_factory=dict)
    dropped: Mapping[str, Document] = field(default_factory=dict)


NO_API_PROVIDERS = ApiProviders()


def check_names(api: ApiProviders) -> None:
    """Raise InvalidStats if a new node has the name of an API-owned provider."""
    for name in sorted(api.name_conflicts):
        why = "a provider of the Placement API has this name: rename or delete it first"
        raise errors.InvalidStats(what=f"provider {name!r}", why=why)


def additions(before: Document, reported: Collection[str]) -> dict[str, Any]:
    """Return the fields of a node's new document that keep the API's aggregates and added traits.

    ``reported`` are the traits in the report; the returned ``traits`` combine them with the added ones.
    """
    parts = {"aggregates": before["aggregates"]} if "aggregates" in before else {}
    added = before["traits"] if is_api_owned(before) else before.get("added_traits", ())
    if added:
        traits = {"added_traits": sorted(added), "reported_traits": sorted(reported)}
        parts |= {**traits, "traits": sorted({*reported, *added})}
    return parts


def reported_traits(before: Document) -> Collection[str]:
    traits: Collection[str] = before.get("reported_traits", before["traits"])
    return traits


def remaining(roots: Mapping[str, str], api: ApiProviders) -> dict[str, Document]:
    """Return {id: new document} of API-owned providers that a full report changes. ``roots``: {reported node: root}.

    A dropped node with API-owned providers below it becomes an API-owned provider without inventories. A provider below
    a node that moves to a different root gets that root.
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
    """Return a dropped node's document as an API-owned provider, without anything that the agent reported."""
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
