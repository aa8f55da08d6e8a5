# SPDX-License-Identifier: Apache-2.0
"""UUIDs and ids of providers."""

import uuid

from rpcapi.resources import names
from scheduler_svc.core.provider_uuids import AgentIdentities, uuid_of


def test_uuid_of_a_created_provider_is_in_its_id():
    created = str(uuid.uuid4())
    assert uuid_of(names.api_provider(created)) == created


def test_uuid_of_an_agents_provider_is_the_same_in_every_process():
    # A literal: running clouds have recorded it.
    assert uuid_of("h1/n1") == "319580cb-29cd-5db5-942a-2cd705a97c7b"
    assert uuid_of("h1/n1") != uuid_of("h1/n10")


def test_agents_are_found_by_uuid_and_created_ones_are_not_learned():
    identities = AgentIdentities()
    created = str(uuid.uuid4())
    identities.learn(["h1/n1", names.api_provider(created)])
    identities.learn(["h2/n1"])
    assert identities.find(uuid_of("h1/n1")) == "h1/n1"
    assert identities.find(uuid_of("h2/n1")) == "h2/n1"
    assert identities.find(created) is None
