# SPDX-License-Identifier: Apache-2.0
"""The fixtures of Placement's suite: each empties the store through the API, and names the UUIDs that a file reads."""

import os
import uuid

from gabbi import fixture

from tests.placement.client import PlacementClient

UUIDS = (
    "CONSUMER_UUID",
    "INSTANCE_UUID",
    "MIGRATION_UUID",
    *(f"CONSUMER_ID_{number}" for number in range(10)),
    "RP_UUID",
    "ALT_RP_UUID",
    "PARENT_PROVIDER_UUID",
    "ALT_PARENT_PROVIDER_UUID",
    "AGG_UUID",
    "PROJECT_ID",
    "PROJECT_ID_ALT",
    "USER_ID",
    "USER_ID_ALT",
)
PORT = "GANTT_PLACEMENT_TEST_PORT"  # environment variable with the port of the API


class APIFixture(fixture.GabbiFixture):
    """An empty store, and environment variables that the file reads."""

    def start_fixture(self) -> None:
        """Called before the first test of a file."""
        PlacementClient(int(os.environ[PORT])).empty()
        os.environ.update({name: str(uuid.uuid4()) for name in UUIDS})
        os.environ["RP_NAME"] = "name of " + os.environ["RP_UUID"]
        os.environ["ALT_RP_NAME"] = "name of " + os.environ["ALT_RP_UUID"]
        os.environ["CUSTOM_RES_CLASS"] = "CUSTOM_IRON_NFV"
