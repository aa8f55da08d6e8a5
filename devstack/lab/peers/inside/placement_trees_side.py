# SPDX-License-Identifier: Apache-2.0
"""OpenStack Placement with one set of provider trees at a time, for queries of allocation candidates."""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import webob
from peer_wire import serve
from placement import db_api
from placement.db.sqlalchemy import models
from placement_side import PROJECT, VERSION, PlacementPeer, _insert

CLEARED_TABLES = (
    models.Allocation,
    models.Consumer,
    models.Inventory,
    models.ResourceProviderTrait,
    models.ResourceProviderAggregate,
    models.PlacementAggregate,
)


class PlacementTreesPeer(PlacementPeer):
    """Placement's application with a set of provider trees in its database.

    A provider is {"uuid", "parent" (a uuid or None), "root", "inventories" {class: {...}}, "used" {class: amount},
    "traits" [...], "aggregates" [uuids], "generation" (0 if missing)}; parents come before their children. A consumer
    with the provider's UUID and generation 1 holds what is used.
    """

    def __init__(self, folder: Path, connection: str | None = None) -> None:
        super().__init__(folder, connection)
        context = db_api.DbContext()
        _insert(context, [models.Project(id=1, external_id=PROJECT), models.User(id=1, external_id=PROJECT)])
        self._classes: dict[str, int] = {}
        self._traits: dict[str, int] = {}

    def load(self, providers: Sequence[Mapping[str, Any]]) -> str:
        """Replace the providers in the database by these."""
        context = db_api.DbContext()
        _empty(context)
        self._learn(providers)
        aggregates = sorted({uuid for provider in providers for uuid in provider["aggregates"]})
        numbers = {provider["uuid"]: number for number, provider in enumerate(providers, 1)}
        groups = {uuid: number for number, uuid in enumerate(aggregates, 1)}
        _insert(context, [models.PlacementAggregate(id=number, uuid=uuid) for uuid, number in groups.items()])
        for generation in _generations(providers):  # a child's row refers to its parent's
            _insert(context, [_provider_row(provider, numbers) for provider in generation])
        _insert(
            context,
            [row for provider in providers for row in self._holdings(provider, numbers[provider["uuid"]], groups)],
        )
        return VERSION

    def ask(self, queries: Sequence[Sequence[Sequence[str]]]) -> list[Any]:
        """Return for each query its candidates, or the error message, and the seconds.

        A candidate is (allocations by provider, providers by group suffix).
        """
        answers = []
        for query in queries:
            began = time.perf_counter()
            try:
                query_string = urlencode([(key, value) for key, value in query])
                body = self._ask("GET", f"/allocation_candidates?{query_string}", 200)
                requests = json.loads(body)["allocation_requests"]
                answer: Any = [[provider["allocations"], provider["mappings"]] for provider in requests]
            except RuntimeError as why:
                answer = str(why)
            answers.append([answer, time.perf_counter() - began])
        return answers

    def answer(self, queries: Sequence[tuple[str, str]]) -> list[tuple[int, str]]:
        """Return status and body for each (microversion, query string) of a query for allocation candidates."""
        answers = []
        for version, query in queries:
            headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": f"placement {version}"}
            request = webob.Request.blank(f"/allocation_candidates?{query}", headers=headers)
            response = request.get_response(self._application)
            answers.append((response.status_int, response.text))
        return answers

    def send(self, requests: Sequence[Mapping[str, Any]]) -> list[tuple[int, dict[str, str], str]]:
        """Return status, headers by lower-case name, and body for each request, in their order.

        A request is {"method", "path" with its query, "version" (a microversion), "body" (a document or None),
        "roles" (names with commas)}.
        """
        answers = []
        for question in requests:
            headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": f"placement {question['version']}"}
            headers["X-Roles"] = question["roles"]
            request = webob.Request.blank(question["path"], method=question["method"], headers=headers)
            if question["body"] is not None:
                request.content_type = "application/json"
                request.body = json.dumps(question["body"]).encode()
            response = request.get_response(self._application)
            received = {name.lower(): value for name, value in response.headers.items()}
            answers.append((response.status_int, received, response.text if response.body else ""))
        return answers

    def _learn(self, providers: Sequence[Mapping[str, Any]]) -> None:
        """Create the resource classes and traits of these providers, and read their ids."""
        for name in sorted({name for provider in providers for name in provider["inventories"]} - self._classes.keys()):
            if name.startswith("CUSTOM_"):
                self._ask("PUT", f"/resource_classes/{name}", 201)
        for name in sorted({name for provider in providers for name in provider["traits"]} - self._traits.keys()):
            if name.startswith("CUSTOM_"):
                self._ask("PUT", f"/traits/{name}", 201)
        self._classes, self._traits = _numbers(db_api.DbContext())

    def _holdings(self, provider: Mapping[str, Any], number: int, groups: Mapping[str, int]) -> list[Any]:
        rows: list[Any] = []
        if any(provider["used"].values()):
            rows.append(models.Consumer(uuid=provider["uuid"], project_id=1, user_id=1, generation=1))
        for name, body in provider["inventories"].items():
            of = {"resource_provider_id": number, "resource_class_id": self._classes[name]}
            rows.append(models.Inventory(**of, **body))
            if provider["used"].get(name):
                rows.append(models.Allocation(**of, consumer_id=provider["uuid"], used=provider["used"][name]))
        rows += [
            models.ResourceProviderTrait(resource_provider_id=number, trait_id=self._traits[name])
            for name in provider["traits"]
        ]
        rows += [
            models.ResourceProviderAggregate(resource_provider_id=number, aggregate_id=groups[uuid])
            for uuid in provider["aggregates"]
        ]
        return rows


def _generations(providers: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Return the roots, then their children, and so on."""
    depths: dict[str | None, int] = {None: -1}
    generations: list[list[Mapping[str, Any]]] = []
    for provider in providers:
        depth = depths[provider["uuid"]] = depths[provider["parent"]] + 1
        if depth == len(generations):
            generations.append([])
        generations[depth].append(provider)
    return generations


def _provider_row(provider: Mapping[str, Any], numbers: Mapping[str, int]) -> Any:
    return models.ResourceProvider(
        id=numbers[provider["uuid"]],
        uuid=provider["uuid"],
        name=provider["uuid"],
        generation=provider.get("generation", 0),
        root_provider_id=numbers[provider["root"]],
        parent_provider_id=numbers.get(provider["parent"]),
    )


@db_api.placement_context_manager.reader
def _numbers(context: Any) -> tuple[dict[str, int], dict[str, int]]:
    tables = (models.ResourceClass, models.Trait)
    classes, traits = (
        {provider.name: provider.id for provider in context.session.query(table).all()} for table in tables
    )
    return classes, traits


@db_api.placement_context_manager.writer
def _empty(context: Any) -> None:
    for table in CLEARED_TABLES:
        context.session.query(table).delete()
    # Rows refer to their root and parent, and each to itself as its root: MariaDB deletes none of these.
    providers = context.session.query(models.ResourceProvider)
    providers.update({"root_provider_id": None, "parent_provider_id": None})
    providers.delete()


if __name__ == "__main__":
    placement = PlacementTreesPeer(Path(sys.argv[1]))
    serve({"load": placement.load, "ask": placement.ask, "answer": placement.answer, "send": placement.send})
