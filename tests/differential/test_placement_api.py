# SPDX-License-Identifier: Apache-2.0
"""OpenStack Placement and our API, with the same random clouds, give the same answers to the same random questions.

Questions are queries for allocation candidates, other reads, and writes, which change both.
"""

import collections
import contextlib
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from devstack.lab.peers.side import PeerProcess
from devstack.servers.redis import RedisServer
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.sql.store import SqlStore
from tests.differential import asking, placement_clouds
from tests.differential.placement_candidates import CandidatesComparison
from tests.differential.placement_pair import PlacementPair
from tests.differential.placement_reads import READS
from tests.differential.placement_writes import PROJECTS, WRITES, Question, Scene
from tests.support.scheduler.placement import LATEST, NAMESPACES, PlacementApi

pytestmark = [pytest.mark.differential, pytest.mark.timeout(7200)]

CLOUDS = {"memory": 84, "redis": 84, "sqlite": 84}  # by store of our API
QUESTIONS = 20  # per cloud, beside those about its final state
CANDIDATES_SHARE, WRITES_SHARE = 0.5, 0.3

OpenStore = Callable[[], Any]


@pytest.fixture(scope="module")
def placement() -> Iterator[PeerProcess]:
    with asking.running("placement_api_side.py") as peer:
        yield peer


@pytest.fixture
def open_store(store: str, redis_server: RedisServer, tmp_path: Path) -> OpenStore:
    """Opens empty stores."""

    def opened() -> Any:
        name = uuid.uuid4().hex[:12]
        if store == "redis":
            return RedisStore(redis_server.url(), name, namespaces=NAMESPACES)
        if store == "sqlite":
            return SqlStore(f"sqlite:///{tmp_path / name}.sqlite", name, namespaces=NAMESPACES)
        return MemoryStore(name, namespaces=NAMESPACES)

    return opened


@pytest.mark.parametrize("store", CLOUDS)
def test_answers_are_those_of_placement(
    placement: PeerProcess, store: str, open_store: OpenStore, tally: collections.Counter[str]
) -> None:
    for number in range(CLOUDS[store]):
        # Each cloud has a seed of its own, so that one can be repeated alone.
        name = f"{store}_{number}"
        ask_about_a_cloud(Random(name), name.upper(), placement, open_store, tally)
    assert tally["candidates: some"] > CLOUDS[store] * QUESTIONS * CANDIDATES_SHARE / 4
    assert tally["writes: accepted"] > CLOUDS[store] * QUESTIONS * WRITES_SHARE / 4


def ask_about_a_cloud(
    random: Random, name: str, placement: PeerProcess, open_store: OpenStore, tally: collections.Counter[str]
) -> None:
    documents = placement_clouds.providers(random)
    with contextlib.closing(open_store()) as store:
        pair = PlacementPair(placement, PlacementApi(store))
        pair.load(documents)
        providers = [document["uuid"] for document in documents[:-1]]  # the last one keeps names in use
        scene = Scene(pair.api, name, list(providers), list(providers))
        candidates = CandidatesComparison(pair, tally)
        for _ in range(QUESTIONS):
            share = random.random()
            if share < CANDIDATES_SHARE:
                candidates.compare(placement_clouds.query(random))
            else:
                draws = WRITES if share < CANDIDATES_SHARE + WRITES_SHARE else READS
                compare(random.choice(draws)(random, scene), pair, scene, tally)
        for question in final_questions():
            compare(question, pair, scene, tally)


def final_questions() -> Iterator[Question]:
    """Yield questions about the state of a whole cloud."""
    yield Question("GET providers", "GET", "/resource_providers", LATEST)
    for project in PROJECTS:
        yield Question("GET usages", "GET", f"/usages?project_id={project}", LATEST)


def compare(question: Question, pair: PlacementPair, scene: Scene, tally: collections.Counter[str]) -> None:
    expected, own = pair.ask(question)
    assert own == expected, question
    tally[f"{question.kind}: {own.status}"] += 1
    if question.method != "GET":
        tally["writes: accepted" if own.status < 300 else "writes: refused"] += 1
    if own.status == 400:
        scene.forget_empty([question.path, question.body])
