# SPDX-License-Identifier: Apache-2.0
"""OpenStack Placement in this process, asked for the allocation candidates of provider trees, one cloud at a time."""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from peer_wire import serve
from placement import db_api
from placement.db.sqlalchemy import models
from placement_side import PROJECT, VERSION, Placement, _insert

EMPTIED = (
    models.Allocation,
    models.Consumer,
    models.Inventory,
    models.ResourceProviderTrait,
    models.ResourceProviderAggregate,
    models.PlacementAggregate,
)


class PlacementTrees(Placement):
    """The application, and one cloud of provider trees in its database.

    A provider is {"uuid", "parent" (a uuid or None), "root", "inventories" {class: {...}}, "used" {class: amount},
    "traits" [...], "aggregates" [uuids]}; parents come before their children.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        context = db_api.DbContext()
        _insert(context, [models.Project(id=1, external_id=PROJECT), models.User(id=1, external_id=PROJECT)])
        self._classes: dict[str, int] = {}
        self._traits: dict[str, int] = {}

    def load(self, providers: Sequence[Mapping[str, Any]]) -> str:
        """Let the database hold these providers and no others."""
        context = db_api.DbContext()
        _empty(context)
        self._learn(providers)
        aggregates = sorted({uuid for each in providers for uuid in each["aggregates"]})
        numbers = {each["uuid"]: number for number, each in enumerate(providers, 1)}
        groups = {uuid: number for number, uuid in enumerate(aggregates, 1)}
        _insert(context, [models.PlacementAggregate(id=number, uuid=uuid) for uuid, number in groups.items()])
        for each in providers:  # one by one: a child's row names its parent's
            _insert(context, [_provider(each, numbers)])
        _insert(context, [row for each in providers for row in self._holdings(each, numbers[each["uuid"]], groups)])
        return VERSION

    def ask(self, queries: Sequence[Sequence[Sequence[str]]]) -> list[Any]:
        """Return for each query its candidates, or the sentence with which it was refused, and seconds.

        A candidate is what is taken of each provider, and which providers serve the group of each suffix.
        """
        found = []
        for query in queries:
            began = time.perf_counter()
            try:
                asked = urlencode([(key, value) for key, value in query])
                told = self._ask("GET", f"/allocation_candidates?{asked}", 200)
                requests = json.loads(told)["allocation_requests"]
                answer: Any = [[each["allocations"], each["mappings"]] for each in requests]
            except RuntimeError as why:
                answer = str(why)
            found.append([answer, time.perf_counter() - began])
        return found

    def _learn(self, providers: Sequence[Mapping[str, Any]]) -> None:
        """Have the classes and traits that these providers have, and know their numbers."""
        for name in sorted({name for each in providers for name in each["inventories"]} - self._classes.keys()):
            if name.startswith("CUSTOM_"):
                self._ask("PUT", f"/resource_classes/{name}", 201)
        for name in sorted({name for each in providers for name in each["traits"]} - self._traits.keys()):
            if name.startswith("CUSTOM_"):
                self._ask("PUT", f"/traits/{name}", 201)
        self._classes, self._traits = _numbers(db_api.DbContext())

    def _holdings(self, each: Mapping[str, Any], number: int, groups: Mapping[str, int]) -> list[Any]:
        rows: list[Any] = [models.Consumer(uuid=each["uuid"], project_id=1, user_id=1, generation=1)]
        for name, told in each["inventories"].items():
            of = {"resource_provider_id": number, "resource_class_id": self._classes[name]}
            rows.append(models.Inventory(**of, **told))
            if each["used"].get(name):
                rows.append(models.Allocation(**of, consumer_id=each["uuid"], used=each["used"][name]))
        rows += [
            models.ResourceProviderTrait(resource_provider_id=number, trait_id=self._traits[name])
            for name in each["traits"]
        ]
        rows += [
            models.ResourceProviderAggregate(resource_provider_id=number, aggregate_id=groups[uuid])
            for uuid in each["aggregates"]
        ]
        return rows


def _provider(each: Mapping[str, Any], numbers: Mapping[str, int]) -> Any:
    return models.ResourceProvider(
        id=numbers[each["uuid"]],
        uuid=each["uuid"],
        name=each["uuid"],
        generation=0,
        root_provider_id=numbers[each["root"]],
        parent_provider_id=numbers.get(each["parent"]),
    )


@db_api.placement_context_manager.reader
def _numbers(context: Any) -> tuple[dict[str, int], dict[str, int]]:
    tables = (models.ResourceClass, models.Trait)
    classes, traits = ({each.name: each.id for each in context.session.query(table).all()} for table in tables)
    return classes, traits


@db_api.placement_context_manager.writer
def _empty(context: Any) -> None:
    for table in EMPTIED:
        context.session.query(table).delete()
    # Children before their parents, of whom they have been told.
    for row in context.session.query(models.ResourceProvider).order_by(models.ResourceProvider.id.desc()).all():
        context.session.delete(row)
        context.session.flush()


if __name__ == "__main__":
    placement = PlacementTrees(Path(sys.argv[1]))
    serve({"load": placement.load, "ask": placement.ask})
