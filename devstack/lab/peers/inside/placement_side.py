# SPDX-License-Identifier: Apache-2.0
"""OpenStack Placement as a WSGI application, called without a socket."""

import json
import logging
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import webob
from oslo_config import cfg
from peer_wire import serve, timed
from placement import conf as placement_conf
from placement import db_api, deploy
from placement import policy as placement_policy
from placement.db.sqlalchemy import migration, models

VERSION = "placement 1.39"
PROJECT = "lab"
CONFIGURATION = """\
[api]
auth_strategy = noauth2
[placement_database]
connection = {connection}
"""
CLEARED_TABLES = (
    models.Allocation,
    models.Consumer,
    models.Inventory,
    models.ResourceProviderTrait,
    models.ResourceProviderAggregate,
    models.PlacementAggregate,
)
LIMIT = 1000  # default of Nova's [scheduler] max_placement_results


def deployed(conf_file: Path, *, upgrade: bool = False) -> Any:
    """Return the WSGI application for a configuration; ``upgrade`` first creates the database's tables."""
    conf = cfg.ConfigOpts()
    placement_conf.register_opts(conf)
    conf([], project="placement", default_config_files=[str(conf_file)], default_config_dirs=[])
    logging.getLogger().setLevel(logging.WARNING)
    db_api.configure(conf)
    if upgrade:
        migration.upgrade("head")
    deploy.update_database(conf)
    placement_policy.init(conf)
    return deploy.deploy(conf)


class PlacementPeer:
    """Placement's application over provider trees in its database.

    A provider is {"uuid", "parent" (uuid or None), "root", "inventories" {class: {...}}, "used" {class: amount},
    "traits", "aggregates", "generation" (default 0)}; parents come first. A consumer with the provider's uuid has the
    used amounts.
    """

    def __init__(self, folder: Path, connection: str | None = None) -> None:
        """``connection`` is the database's URL; default: a SQLite file in ``folder``."""
        conf_file = folder / "placement.conf"
        url = f"sqlite:///{folder}/placement.db" if connection is None else connection
        conf_file.write_text(CONFIGURATION.format(connection=url.replace("%", "%%")))
        self._application = deployed(conf_file, upgrade=True)
        _insert(db_api.DbContext(), [models.Project(id=1, external_id=PROJECT), models.User(id=1, external_id=PROJECT)])
        self._classes: dict[str, int] = {}
        self._traits: dict[str, int] = {}

    def prepare(
        self, providers: Sequence[Mapping[str, Any]], claimable: Sequence[str], requests: Sequence[Mapping[str, int]]
    ) -> int:
        self.load(providers)
        self._requests, self._claimable = requests, claimable
        return len(self._candidates(0)["allocation_requests"])

    def load(self, providers: Sequence[Mapping[str, Any]]) -> str:
        context = db_api.DbContext()
        _empty(context)
        self._learn(providers)
        aggregates = sorted({key for provider in providers for key in provider["aggregates"]})
        numbers = {provider["uuid"]: number for number, provider in enumerate(providers, 1)}
        groups = {key: number for number, key in enumerate(aggregates, 1)}
        _insert(context, [models.PlacementAggregate(id=number, uuid=key) for key, number in groups.items()])
        for generation in _generations(providers):  # children refer to the rows of their parents
            _insert(context, [_provider_row(provider, numbers) for provider in generation])
        _insert(
            context,
            [row for provider in providers for row in self._holdings(provider, numbers[provider["uuid"]], groups)],
        )
        return VERSION

    def ask(self, queries: Sequence[Sequence[Sequence[str]]]) -> list[Any]:
        """Return (candidates or error message, seconds) per query. A candidate is (allocations, mappings)."""
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

    def candidates(self, first: int, count: int) -> list[float]:
        return timed(self._candidates, first, count)

    def claim(self, first: int, count: int) -> list[float]:
        return timed(self._claim, first, count)

    def _candidates(self, number: int) -> Any:
        request = self._requests[number % len(self._requests)]
        resources = ",".join(f"{name}:{amount}" for name, amount in request.items())
        return json.loads(self._ask("GET", f"/allocation_candidates?resources={resources}&limit={LIMIT}", 200))

    def _claim(self, number: int) -> None:
        host = self._claimable[number % len(self._claimable)]
        body = {
            "allocations": {host: {"resources": {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 1}}},
            "project_id": PROJECT,
            "user_id": PROJECT,
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        self._ask("PUT", f"/allocations/{uuid.uuid4()}", 204, body)

    def _ask(self, method: str, path: str, expected: int, body: Any = None) -> bytes:
        headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": VERSION, "Accept": "application/json"}
        request = webob.Request.blank(path, method=method, headers=headers)
        if body is not None:
            request.content_type = "application/json"
            request.body = json.dumps(body).encode()
        answer = request.get_response(self._application)
        if answer.status_int != expected:
            raise RuntimeError(f"{method} {path.partition('?')[0]} answered {answer.status}: {answer.text[:300]}")
        return answer.body

    def _learn(self, providers: Sequence[Mapping[str, Any]]) -> None:
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
            models.ResourceProviderAggregate(resource_provider_id=number, aggregate_id=groups[key])
            for key in provider["aggregates"]
        ]
        return rows


@db_api.placement_context_manager.writer
def _insert(context: Any, rows: Sequence[Any]) -> None:
    context.session.bulk_save_objects(rows)


def _generations(providers: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Group providers by their depth: roots first, then their children, and so on."""
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
    # MariaDB deletes no row to which a row refers as its root or parent; each root refers to itself.
    providers = context.session.query(models.ResourceProvider)
    providers.update({"root_provider_id": None, "parent_provider_id": None})
    providers.delete()


if __name__ == "__main__":
    placement = PlacementPeer(Path(sys.argv[1]))
    verbs = ("load", "ask", "prepare", "candidates", "claim")
    serve({name: getattr(placement, name) for name in verbs})
