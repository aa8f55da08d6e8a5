# SPDX-License-Identifier: Apache-2.0
"""The Placement API's additions to agents' providers, preserved across the agents' reports."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.store.providers.changes import API, KIND, Document, is_api_owned
from scheduler_svc.store.records import SCHEMA


@dataclass(frozen=True, slots=True)
class ApiProviders:
    """The API's additions to the trees of a service host, as read for one report.

    Attributes:
        name_conflicts: New nodes of the report whose names API-owned providers have.
        below: Documents by id of API-owned providers below nodes of the host; only for full reports.
        dropped: Documents by id of nodes that the report no longer has; only for full reports.
    """

    name_conflicts: Collection[str] = ()
    below: Mapping[str, Document] = field(default_factory=dict)
    dropped: Mapping[str, Document] = field(default_factory=dict)


NO_API_PROVIDERS = ApiProviders()


def check_names(api: ApiProviders) -> None:
    """Raise InvalidStats if an API-owned provider has the name of a new node."""
    for name in sorted(api.name_conflicts):
        why = "a provider of the Placement API has this name: rename or delete it first"
        raise errors.InvalidStats(what=f"provider {name!r}", why=why)


def additions(before: Document, reported: Collection[str]) -> dict[str, Any]:
    """Return the aggregates and added traits that the API wrote, with all traits, for a node's new document."""
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
    """Return the API-owned documents that a full report changes; ``roots`` are the roots of its nodes.

    An unreported node with API-owned providers below becomes an empty API-owned provider. A provider follows its parent
    to another root.
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
    """Return the document of an unreported node: the API's additions without the agent's reports."""
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
