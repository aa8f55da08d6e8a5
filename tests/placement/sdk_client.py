# SPDX-License-Identifier: Apache-2.0
"""What Watcher and others do with Placement's API, by openstacksdk: run as a program with the API's URL."""

import sys
import uuid

import openstack  # type: ignore[import-not-found]
from openstack import exceptions

RESOURCE_CLASS, TRAIT = "CUSTOM_SDK_UNIT", "CUSTOM_SDK_TRAIT"


def main(url: str) -> None:
    """Use each function of the SDK's proxy, and check its result."""
    connection = openstack.connect(
        load_yaml_config=False,
        load_envvars=False,
        auth_type="admin_token",
        auth={"token": "admin", "endpoint": url},
        placement_endpoint_override=url,
    )
    placement = connection.placement
    name, absent = f"node-{uuid.uuid4()}", str(uuid.uuid4())

    provider = placement.create_resource_provider(name=name)
    placement.create_resource_class(name=RESOURCE_CLASS)
    placement.create_trait(TRAIT)
    assert placement.find_resource_provider(name).id == provider.id
    assert placement.find_resource_provider(absent) is None
    assert TRAIT in [trait.id for trait in placement.traits()]
    assert RESOURCE_CLASS in [resource_class.name for resource_class in placement.resource_classes()]

    placement.create_resource_provider_inventory(provider, RESOURCE_CLASS, total=8, reserved=1, allocation_ratio=2.0)
    placement.create_resource_provider_inventory(provider, "VCPU", total=16)
    # Watcher reads exactly this, for each compute node
    inventories = {
        inventory.resource_class: inventory for inventory in placement.resource_provider_inventories(provider.id)
    }
    assert sorted(inventories) == [RESOURCE_CLASS, "VCPU"]
    unit = inventories[RESOURCE_CLASS]
    assert (unit.total, unit.reserved, unit.allocation_ratio) == (8, 1, 2.0)
    assert (unit.min_unit, unit.step_size, unit.max_unit) == (1, 1, 2147483647)
    try:
        list(placement.resource_provider_inventories(absent))
    except exceptions.NotFoundException as error:
        assert absent in str(error)
    else:
        raise AssertionError("the inventories of an absent provider were read")

    provider = placement.get_resource_provider(provider)  # its generation has moved
    aggregate = str(uuid.uuid4())
    placement.set_resource_provider_aggregates(provider, aggregate)
    assert placement.fetch_resource_provider_aggregates(provider).aggregates == [aggregate]

    for inventory in list(placement.resource_provider_inventories(provider)):
        placement.delete_resource_provider_inventory(inventory, provider)
    placement.delete_resource_provider(provider)
    placement.delete_resource_class(RESOURCE_CLASS)
    placement.delete_trait(TRAIT)


if __name__ == "__main__":
    main(sys.argv[1])
