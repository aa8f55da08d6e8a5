# SPDX-License-Identifier: Apache-2.0
"""Random reads for Placement's API, other than allocation candidates."""

from random import Random
from urllib.parse import urlencode

from tests.differential.placement_writes import AGGREGATES, PROJECTS, TYPES, USERS, Draw, Question, Scene, microversion
from tests.support.clouds import trees


def usages_of_provider(random: Random, scene: Scene) -> Question:
    """Read what is used of a provider."""
    path = f"/resource_providers/{scene.any_provider(random)}/usages"
    return Question("GET provider usages", "GET", path, f"1.{microversion(random, 0)}")


def usages_of_project(random: Random, scene: Scene) -> Question:
    """Read what a project uses, or a user of it, or consumers of a type."""
    minor = microversion(random, 9, 37, 38)
    query = {"project_id": random.choice((*PROJECTS, "nobody"))}
    if random.random() < 0.4:
        query["user_id"] = random.choice((*USERS, "nobody"))
    if minor >= 38 and random.random() < 0.6:
        query["consumer_type"] = random.choice((*TYPES, "all", "unknown", "OTHER"))
    if random.random() < 0.05:
        query = {"user_id": "lab"}
    return Question("GET usages", "GET", f"/usages?{urlencode(query)}", f"1.{minor}")


def allocations(random: Random, scene: Scene) -> Question:
    """Read what a consumer holds."""
    path = f"/allocations/{random.choice(scene.consumers)}"
    return Question("GET allocations", "GET", path, f"1.{microversion(random, 0, 12, 28, 38)}")


def part_of_provider(random: Random, scene: Scene) -> Question:
    """Read a provider, or what belongs to it."""
    part, since = random.choice(
        (
            ("", 0),
            ("/inventories", 0),
            ("/allocations", 0),
            ("/traits", 6),
            ("/aggregates", 1),
            ("/inventories/VCPU", 0),
        )
    )
    path = f"/resource_providers/{scene.any_provider(random)}{part}"
    return Question("GET provider", "GET", path, f"1.{microversion(random, since, 15, 19)}")


def list_of_providers(random: Random, scene: Scene) -> Question:
    """List providers by several filters."""
    minor = microversion(random, 4, 14, 18, 22, 24, 32)
    query: list[tuple[str, str]] = []

    def seldom(since: int, name: str, text: str) -> None:
        if minor >= since and random.random() < 0.3:
            query.append((name, text))

    aggregates = random.sample(AGGREGATES, 2)
    traits = random.sample(trees.TRAITS, 2)
    amounts = ",".join(f"{name}:{random.randint(1, 3)}" for name in random.sample(trees.CLASSES, random.randint(1, 2)))
    seldom(4, "resources", amounts)
    seldom(3, "member_of", random.choice((aggregates[0], "in:" + ",".join(aggregates))))
    seldom(24, "member_of", aggregates[1])
    seldom(32, "member_of", "!" + aggregates[0])
    seldom(18, "required", traits[0])
    seldom(22, "required", "!" + traits[1]) if minor == 39 else None
    seldom(39, "required", "in:" + ",".join(traits))
    seldom(14, "in_tree", scene.any_provider(random))
    if random.random() < 0.1:
        query.append(random.choice((("uuid", scene.any_provider(random)), ("name", random.choice(scene.providers)))))
    if random.random() < 0.05:  # alone: where another filter leaves nothing, Placement does not look at the names
        query = [random.choice((("resources", "VCPU:0"), ("resources", "CUSTOM_NOWHERE:1"), ("required", "NOWHERE")))]
    return Question("GET providers", "GET", f"/resource_providers?{urlencode(query)}", f"1.{minor}")


def names(random: Random, scene: Scene) -> Question:
    """Read a custom name, or list those of the cloud's own traits that providers have."""
    trait, resource_class = scene.own_name(random, "T"), scene.own_name(random, "RC")
    version = f"1.{microversion(random, 7, 15)}"
    path = random.choice(
        (
            *(f"/traits/{trait}", f"/resource_classes/{resource_class}"),
            *(f"/traits?name=startswith:CUSTOM_T_{scene.name}_{extra}" for extra in ("", "&associated=true")),
            "/traits?" + urlencode({"name": f"in:{trait},CUSTOM_A", "associated": "false"}),
        )
    )
    return Question("GET names", "GET", path, version)


READS: tuple[Draw, ...] = (
    *(usages_of_provider, usages_of_project, usages_of_project, allocations, part_of_provider, part_of_provider),
    *(list_of_providers, names),
)
