# SPDX-License-Identifier: Apache-2.0
"""Random writes for Placement's API: most are accepted, others are refused for each of the reasons that it knows.

A draw is a function of a random source and the Scene that returns a Question.
"""

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.support.clouds import trees
from tests.support.clouds.tree_clouds import NAMES
from tests.support.scheduler.placement import PlacementApi

AGGREGATES = tuple(str(uuid.uuid5(uuid.NAMESPACE_DNS, name)) for name in (*trees.AGGREGATES, *NAMES))
PROJECTS, USERS, TYPES = ("lab", "p1", "p2"), ("lab", "u1"), ("INSTANCE", "MIGRATION")
SOME_WRONG = 0.08  # the probability of each mistake


@dataclass(frozen=True, slots=True)
class Question:
    """A request of a microversion; ``kind`` groups the answers that are counted."""

    kind: str
    method: str
    path: str
    version: str
    body: Any = None


@dataclass(slots=True)
class Scene:
    """What questions of one cloud may name: providers and consumers, also former ones, and custom names of its own."""

    api: PlacementApi
    name: str  # in capitals; Placement keeps custom names for the clouds that follow
    providers: list[str]
    consumers: list[str]
    names: list[str] = field(default_factory=list)

    def get(self, path: str) -> Any:
        """Return a document of our API at the last microversion, {} without one."""
        answer = self.api.call("GET", path)
        return answer.json if answer.status == 200 else {}

    def provider_generation(self, random: Random, provider: str) -> int:
        """Return a provider's generation, or seldom another one."""
        generation = self.get(f"/resource_providers/{provider}").get("generation", 0)
        return int(generation) + (random.choice((-1, 1, 7)) if random.random() < SOME_WRONG else 0)

    def consumer_generation(self, random: Random, consumer: str) -> int | None:
        """Return a consumer's generation, None for one that holds nothing, or seldom another one."""
        generation: int | None = self.get(f"/allocations/{consumer}").get("consumer_generation")
        return random.choice((None, 0, 1, 2, 9)) if random.random() < SOME_WRONG else generation

    def any_provider(self, random: Random) -> str:
        """Return the UUID of a provider, or seldom of none."""
        return new_uuid(random) if random.random() < SOME_WRONG / 2 else random.choice(self.providers)

    def any_consumer(self, random: Random) -> str:
        """Return the UUID of a consumer, often of a new one, which is remembered."""
        if random.random() < 0.3:
            self.consumers.append(new_uuid(random))
            return self.consumers[-1]
        return random.choice(self.consumers)

    def forget_empty(self, body: Any) -> None:
        """Ask no more about the consumers in a refused body that hold nothing.

        Placement keeps a consumer without allocations of some refused requests, and the next one conflicts with it.
        """
        text = json.dumps(body)
        for consumer in [name for name in self.consumers if name in text]:
            if not self.get(f"/allocations/{consumer}").get("allocations"):
                self.consumers.remove(consumer)

    def own_name(self, random: Random, prefix: str) -> str:
        """Return a custom name that only this cloud uses, now or before."""
        name = f"CUSTOM_{prefix}_{self.name}_{random.randint(1, 3)}"
        if name not in self.names:
            self.names.append(name)
        return name


Draw = Callable[[Random, Scene], Question]


def new_uuid(random: Random) -> str:
    """Return a random UUID."""
    return str(uuid.UUID(int=random.getrandbits(128), version=4))


def microversion(random: Random, *minors: int) -> int:
    """Return the minor number of one of these microversions, more often the last."""
    return random.choice((*minors, 39, 39))


def put_allocations(random: Random, scene: Scene) -> Question:
    """Replace what a consumer holds."""
    minor, consumer = microversion(random, 0, 8, 12, 28, 34, 38), scene.any_consumer(random)
    return Question(
        "PUT allocations", "PUT", f"/allocations/{consumer}", f"1.{minor}", _holding(random, scene, minor, consumer)
    )


def post_allocations(random: Random, scene: Scene) -> Question:
    """Replace what several consumers hold."""
    minor = microversion(random, 13, 28, 34, 38)
    consumers = {scene.any_consumer(random) for _ in range(random.randint(1, 3))}
    body = {consumer: _holding(random, scene, minor, consumer) for consumer in sorted(consumers)}
    return Question("POST allocations", "POST", "/allocations", f"1.{minor}", body)


def delete_allocations(random: Random, scene: Scene) -> Question:
    """End what a consumer holds."""
    return Question("DELETE allocations", "DELETE", f"/allocations/{scene.any_consumer(random)}", "1.39")


def _holding(random: Random, scene: Scene, minor: int, consumer: str) -> dict[str, Any]:
    """Return the body of a write of a consumer's allocations, in the form of a microversion."""
    has_allocations = bool(scene.get(f"/allocations/{consumer}").get("allocations"))
    # Placement keeps a row of a consumer that holds nothing, with which the next write conflicts.
    number = random.choice((0, 1, 1, 2)) if has_allocations else random.choice((1, 1, 2))
    amounts = {scene.any_provider(random): _amounts(random, scene) for _ in range(number)}
    body: dict[str, Any] = {"allocations": {name: {"resources": own} for name, own in amounts.items()}}
    if minor < 12:
        body = {"allocations": [_listed(name, own) for name, own in amounts.items()]}
    if minor >= 8:
        body |= {"project_id": random.choice(PROJECTS), "user_id": random.choice(USERS)}
    if minor >= 28:
        body["consumer_generation"] = scene.consumer_generation(random, consumer)
    if minor >= 38:
        body["consumer_type"] = random.choice(TYPES)
    if minor >= 34 and amounts and random.random() < 0.3:
        body["mappings"] = {"": sorted(amounts)}
    if random.random() < SOME_WRONG / 2:
        body.pop(random.choice(sorted(body)))
    return body


def _listed(provider: str, amounts: Mapping[str, int]) -> dict[str, Any]:
    return {"resource_provider": {"uuid": provider}, "resources": amounts}


def _amounts(random: Random, scene: Scene) -> dict[str, int]:
    classes = random.sample(trees.CLASSES, random.choice((1, 1, 2)))
    if random.random() < SOME_WRONG:
        classes.append(random.choice(("DISK_GB", "CUSTOM_NOWHERE", scene.own_name(random, "RC"))))
    return {name: random.choice((1, 1, 1, 2, 3, 99, 0) if random.random() < 0.2 else (1, 1, 2)) for name in classes}


def reshape(random: Random, scene: Scene) -> Question:
    """Replace inventories of providers, and what some consumers hold, in one request."""
    minor = microversion(random, 30, 34, 38)
    providers = {scene.any_provider(random) for _ in range(random.randint(1, 2))}
    inventories = {
        name: {
            "inventories": _free(_inventories(random, scene, name)),
            "resource_provider_generation": scene.provider_generation(random, name),
        }
        for name in sorted(providers)
    }
    holders = [name for name in scene.consumers if scene.get(f"/allocations/{name}").get("allocations")]
    consumers = random.sample(holders, min(len(holders), random.randint(0, 2)))
    allocations = {name: _holding(random, scene, minor, name) for name in consumers}
    body = {"inventories": inventories, "allocations": allocations}
    return Question("POST reshaper", "POST", "/reshaper", f"1.{minor}", body)


def _free(inventories: dict[str, Any]) -> dict[str, Any]:
    """Leave out inventories with more reserved than there is, which Placement's reshaper accepts."""
    return {name: figures for name, figures in inventories.items() if not _has_too_much_reserved(figures)}


def _has_too_much_reserved(figures: dict[str, Any]) -> bool:
    amounts = figures.get("reserved", 0), figures["total"]
    # One that is no number is refused by both.
    return all(isinstance(amount, int) for amount in amounts) and amounts[0] > amounts[1]


def _inventories(random: Random, scene: Scene, provider: str) -> dict[str, Any]:
    """Return new inventories of a provider: what it has with some changes, or others."""
    present = scene.get(f"/resource_providers/{provider}/inventories").get("inventories", {})
    inventories = present if random.random() < 0.6 else {}
    for name in random.sample(trees.CLASSES, random.choice((0, 1, 2))):
        inventories[name] = inventory(random)
    if random.random() < SOME_WRONG:
        inventories[random.choice(("CUSTOM_NOWHERE", scene.own_name(random, "RC")))] = inventory(random)
    return dict(inventories)


def inventory(random: Random) -> dict[str, Any]:
    """Return an inventory as clients write it: not all figures, seldom impossible ones."""
    figures: dict[str, Any] = {"total": random.randint(1, 8)}
    options = {
        "reserved": (0, 1, 1, 8),
        "min_unit": (1, 2),
        "max_unit": (1, 3, 99),
        "step_size": (1, 2),
        "allocation_ratio": (1.0, 1.5, 16),
    }
    figures |= {name: random.choice(values) for name, values in options.items() if random.random() < 0.3}
    if random.random() < SOME_WRONG / 2:
        figures[random.choice(sorted(options))] = random.choice((-1, "x", 0))
    return figures


def put_inventories(random: Random, scene: Scene) -> Question:
    """Replace all inventories of a provider."""
    provider = scene.any_provider(random)
    body = {
        "resource_provider_generation": scene.provider_generation(random, provider),
        "inventories": _inventories(random, scene, provider),
    }
    version = f"1.{microversion(random, 0, 26)}"
    return Question("PUT inventories", "PUT", f"/resource_providers/{provider}/inventories", version, body)


def change_inventory(random: Random, scene: Scene) -> Question:
    """Add, replace or delete one inventory, or delete all."""
    provider, name = scene.any_provider(random), random.choice((*trees.CLASSES, "DISK_GB", "CUSTOM_NOWHERE"))
    path, version = f"/resource_providers/{provider}/inventories", f"1.{microversion(random, 4, 5, 26)}"
    generation = {"resource_provider_generation": scene.provider_generation(random, provider)}
    kind = random.choice(("POST", "PUT", "DELETE", "DELETE all"))
    if kind == "POST":
        body = {"resource_class": name, **inventory(random), **generation}
        return Question("POST inventory", "POST", path, version, body)
    if kind == "PUT":
        return Question("PUT inventory", "PUT", f"{path}/{name}", version, {**inventory(random), **generation})
    path = path if kind == "DELETE all" else f"{path}/{name}"
    return Question(f"{kind} inventory", "DELETE", path, version)


def change_traits(random: Random, scene: Scene) -> Question:
    """Replace or delete the traits of a provider."""
    provider = scene.any_provider(random)
    path, version = f"/resource_providers/{provider}/traits", f"1.{microversion(random, 6)}"
    if random.random() < 0.2:
        return Question("DELETE provider traits", "DELETE", path, version)
    names = random.sample((*trees.TRAITS, "HW_CPU_X86_SSE"), random.randint(0, 3))
    if random.random() < SOME_WRONG:
        names.append(random.choice(("CUSTOM_NOWHERE", "custom_bad", scene.own_name(random, "T"))))
    body = {"resource_provider_generation": scene.provider_generation(random, provider), "traits": names}
    return Question("PUT provider traits", "PUT", path, version, body)


def change_aggregates(random: Random, scene: Scene) -> Question:
    """Replace the aggregates of a provider."""
    provider, minor = scene.any_provider(random), microversion(random, 1, 19)
    names: list[str] = random.sample(AGGREGATES, random.randint(0, 2))
    body: Any = names
    if minor >= 19:
        generation = scene.provider_generation(random, provider)
        body = {"aggregates": names, "resource_provider_generation": generation}
    return Question("PUT aggregates", "PUT", f"/resource_providers/{provider}/aggregates", f"1.{minor}", body)


def create_provider(random: Random, scene: Scene) -> Question:
    """Create a provider, as a root or below another one."""
    minor, new = microversion(random, 0, 14, 20), new_uuid(random)
    name = random.choice(scene.providers) if random.random() < SOME_WRONG else f"name of {new}"
    body = {"name": name, "uuid": random.choice(scene.providers) if random.random() < SOME_WRONG else new}
    if minor >= 14 and random.random() < 0.7:
        body["parent_provider_uuid"] = scene.any_provider(random)
    scene.providers.append(new)
    return Question("POST provider", "POST", "/resource_providers", f"1.{minor}", body)


def change_provider(random: Random, scene: Scene) -> Question:
    """Rename or move a provider."""
    provider, minor = scene.any_provider(random), microversion(random, 0, 14, 37)
    present = scene.get(f"/resource_providers/{provider}")
    body: dict[str, Any] = {"name": present.get("name", "n")}
    if random.random() < 0.3:
        body["name"] = random.choice((f"other name of {provider}", random.choice(scene.providers), "n" * 201))
    if minor >= 14 and random.random() < 0.8:
        moved = random.choice((present.get("parent_provider_uuid"), scene.any_provider(random), None))
        body["parent_provider_uuid"] = moved
    return Question("PUT provider", "PUT", f"/resource_providers/{provider}", f"1.{minor}", body)


def delete_provider(random: Random, scene: Scene) -> Question:
    """Delete a provider."""
    return Question("DELETE provider", "DELETE", f"/resource_providers/{scene.any_provider(random)}", "1.39")


def change_name(random: Random, scene: Scene) -> Question:
    """Create or delete a custom trait or resource class, which may be in use or standard."""
    kind, prefix = random.choice((("traits", "T"), ("resource_classes", "RC")))
    name = scene.own_name(random, prefix)
    if random.random() < 0.3:
        others = {"T": (*trees.TRAITS, "HW_CPU_X86_SSE", "NOWHERE"), "RC": (*trees.CLASSES, "DISK_GB", "NOWHERE")}
        name = random.choice(others[prefix])
    method = random.choice(("PUT", "PUT", "DELETE"))
    version = f"1.{microversion(random, 7, 15)}"
    if prefix == "RC" and random.random() < 0.2:
        return Question("POST resource_classes", "POST", "/resource_classes", version, {"name": name})
    return Question(f"{method} {kind}", method, f"/{kind}/{name}", version)


# Those of allocations are what clients do most.
WRITES: tuple[Draw, ...] = (
    *(put_allocations, put_allocations, put_allocations, post_allocations, post_allocations, delete_allocations),
    *(reshape, put_inventories, change_inventory, change_inventory, change_traits, change_aggregates),
    *(create_provider, change_provider, delete_provider, change_name),
)
