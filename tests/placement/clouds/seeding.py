# SPDX-License-Identifier: Apache-2.0
"""Creation of a cloud through the API.

The suite's files expect the generations to which their seeds lead: one for each inventory, one for all traits of a
provider, one for each allocation, and none for aggregates.
"""

import os
import uuid

from tests.placement.clouds.cloud import Allocation, Cloud, Provider
from tests.support.placement.client import PlacementClient

WITHOUT_GENERATION = "1.18"  # the last microversion in which aggregates leave a provider's generation alone
WITHOUT_CONSUMER_TYPES = "1.37"


def seed(client: PlacementClient, cloud: Cloud) -> None:
    """Create all of a cloud, and set its environment variables."""
    providers = cloud.providers()
    for name in {name for provider, _ in providers for name in provider.aggregates}:
        os.environ[name] = str(uuid.uuid4())
    _create_names(client, [provider for provider, _ in providers])
    for provider, parent in providers:
        _create(client, provider, parent)
    for allocation in cloud.allocations:
        _allocate(client, allocation)


def _create_names(client: PlacementClient, providers: list[Provider]) -> None:
    names = {f"/traits/{name}" for provider in providers for name in provider.traits}
    names |= {f"/resource_classes/{name}" for provider in providers for name in provider.inventories}
    for path in sorted(names):
        if "/CUSTOM_" in path:
            client.change("PUT", path)


def _create(client: PlacementClient, provider: Provider, parent: str | None) -> None:
    identity = os.environ[provider.variable] = provider.uuid or str(uuid.uuid4())
    body = {"name": provider.name, "uuid": identity}
    if parent is not None:
        body["parent_provider_uuid"] = os.environ[parent]
    client.change("POST", "/resource_providers", body)
    path = f"/resource_providers/{identity}"
    if provider.aggregates:
        aggregates = [os.environ[name] for name in provider.aggregates]
        client.change("PUT", f"{path}/aggregates", aggregates, microversion=WITHOUT_GENERATION)
    for resource_class, inventory in provider.inventories.items():
        client.change("POST", f"{path}/inventories", {"resource_class": resource_class, **inventory})
    if provider.traits:
        generation = len(provider.inventories)
        body = {"traits": provider.traits, "resource_provider_generation": generation}
        client.change("PUT", f"{path}/traits", body)


def _allocate(client: PlacementClient, allocation: Allocation) -> None:
    consumer = os.environ[allocation.variable] = str(uuid.uuid4())
    body = {
        "allocations": {os.environ[allocation.provider]: {"resources": allocation.resources}},
        "project_id": allocation.project,
        "user_id": allocation.user,
        "consumer_generation": None,
    }
    client.change("PUT", f"/allocations/{consumer}", body, microversion=WITHOUT_CONSUMER_TYPES)
