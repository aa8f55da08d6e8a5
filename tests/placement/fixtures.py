# SPDX-License-Identifier: Apache-2.0
"""The fixtures of Placement's suite, under the names that its files use.

Each empties the store through the API, creates its cloud, and sets the environment variables that a file reads.
"""

import os
import uuid
from typing import ClassVar

from gabbi import fixture

from tests.placement.clouds.bandwidth import SEGMENTS
from tests.placement.clouds.cloud import Allocation, Cloud, Provider, amount
from tests.placement.clouds.devices import DEEP_DEVICES, DEVICES
from tests.placement.clouds.groups import GROUPS
from tests.placement.clouds.seeding import seed
from tests.placement.clouds.storage import LOCAL_STORAGE, SHARED_STORAGE, STORAGE_OF_NUMA_NODES
from tests.support.placement.client import PlacementClient

PORT = "GANTT_PLACEMENT_TEST_PORT"  # environment variable with the port of the API
UUIDS = (
    "ADMIN_PROJECT_ID",
    "AGGA_UUID",
    "AGGB_UUID",
    "AGGC_UUID",
    "AGG_UUID",
    "ALT_PARENT_PROVIDER_UUID",
    "ALT_RP_UUID",
    "ALT_USER_ID",
    "CONSUMER_UUID",
    "INSTANCE_UUID",
    "MIGRATION_UUID",
    "PARENT_PROVIDER_UUID",
    "PROJECT_ID",
    "PROJECT_ID_ALT",
    "RP_UUID",
    "RP_UUID1",
    "RP_UUID2",
    "SERVICE_PROJECT_ID",
    "USER_ID",
    "USER_ID_ALT",
)
NAMES = ("ALT_RP_NAME", "RP_NAME", "RP_NAME1", "RP_NAME2")
CLASSES = {"CUSTOM_RES_CLASS": "IRON_NFV", "CUSTOM_RES_CLASS1": "IRON_NFV1", "CUSTOM_RES_CLASS2": "IRON_NFV2"}


class APIFixture(fixture.GabbiFixture):
    """An empty store; subclasses name the cloud that it contains instead, and ``roles`` of who creates it."""

    cloud: ClassVar[Cloud | None] = None
    roles: ClassVar[str | None] = None

    def start_fixture(self) -> None:
        """Called before the first test of a file."""
        os.environ.update({name: str(uuid.uuid4()) for name in UUIDS})
        os.environ.update({name: f"name of {uuid.uuid4()}" for name in NAMES})
        os.environ.update({name: f"CUSTOM_{value}" for name, value in CLASSES.items()})
        client = PlacementClient(int(os.environ[PORT]), self.roles)
        client.empty()
        cloud = self.seeds()
        if cloud is not None:
            seed(client, cloud)
        client.close()

    def seeds(self) -> Cloud | None:
        """Return the cloud to create; called when the environment variables are set."""
        return self.cloud


class CORSFixture(APIFixture):
    """An empty store, where pages of other origins may call the API."""


class LegacyRBACPolicyFixture(APIFixture):
    """An empty store, and the former default rules beside the new ones."""


class SecureRBACPolicyFixture(APIFixture):
    """An empty store, and the new default rules alone."""


class OpenPolicyFixture(APIFixture):
    """An empty store, and rules that allow everything to everybody."""


class AllocationFixture(APIFixture):
    """One provider of two resource classes, and three consumers of two users of a project."""

    def seeds(self) -> Cloud:
        """Return the cloud, with the provider, the project and the users of the environment variables."""
        inventories = {"DISK_GB": amount(2048, step_size=10, min_unit=10, max_unit=1000), "VCPU": amount(10)}
        provider = Provider(os.environ["RP_NAME"], "RP_UUID", inventories, uuid=os.environ["RP_UUID"])
        project, user, other_user = (os.environ[name] for name in ("PROJECT_ID", "USER_ID", "ALT_USER_ID"))
        return Cloud(
            (provider,),
            (
                Allocation("RP_UUID", {"DISK_GB": 1000}, "CONSUMER_0", project, user),
                Allocation("RP_UUID", {"VCPU": 6}, "CONSUMER_ID", project, user),
                Allocation("RP_UUID", {"DISK_GB": 20, "VCPU": 1}, "ALT_CONSUMER_ID", project, other_user),
            ),
        )


class SharedStorageFixture(APIFixture):
    """Hosts with shared storage."""

    cloud = SHARED_STORAGE


class NonSharedStorageFixture(APIFixture):
    """Hosts with local storage."""

    cloud = LOCAL_STORAGE


class NUMAAggregateFixture(APIFixture):
    """NUMA nodes with shared storage."""

    cloud = STORAGE_OF_NUMA_NODES


class GranularFixture(APIFixture):
    """Hosts for requests with several groups."""

    cloud = GROUPS


class NUMANetworkFixture(APIFixture):
    """Hosts with trees of devices."""

    cloud = DEVICES


class DeepNUMANetworkFixture(APIFixture):
    """The same hosts, two levels lower."""

    cloud = DEEP_DEVICES


class NeutronQoSMultiSegmentFixture(APIFixture):
    """Hosts with bandwidth on the segments of a network."""

    cloud = SEGMENTS
