# SPDX-License-Identifier: Apache-2.0
"""What Neutron's agents do with Placement's API, by neutron-lib's client: run as a program with the API's URL."""

import sys
import uuid
from collections.abc import Callable
from typing import Any

from keystoneauth1 import loading
from neutron_lib.exceptions import placement as exceptions  # type: ignore[import-not-found]
from neutron_lib.placement.client import PlacementAPIClient  # type: ignore[import-not-found]
from oslo_config import cfg

GROUP = "placement"
BANDWIDTH = "NET_BW_EGR_KILOBIT_PER_SEC"


def configuration(url: str) -> cfg.ConfigOpts:
    """Return Neutron's group [placement], with a token that noauth2 believes."""
    conf = cfg.ConfigOpts()
    loading.register_auth_conf_options(conf, GROUP)
    loading.register_session_conf_options(conf, GROUP)
    conf.register_opts(loading.get_auth_plugin_conf_options("admin_token"), group=GROUP)
    conf.register_opts([cfg.StrOpt("region_name"), cfg.StrOpt("endpoint_type", default="public")], group=GROUP)
    conf([])
    for name, value in {"auth_type": "admin_token", "endpoint": url, "token": "admin"}.items():
        conf.set_override(name, value, group=GROUP)
    return conf


def inventory(total: int) -> dict[str, float]:
    """Return an inventory of bandwidth."""
    return {"total": total, "reserved": 0, "min_unit": 1, "max_unit": total, "step_size": 1, "allocation_ratio": 1.0}


def raises(error: type[Exception], call: Callable[..., Any], *arguments: Any) -> None:
    """Check that a call raises this error of neutron-lib."""
    try:
        call(*arguments)
    except error:
        return
    raise AssertionError(f"{call.__name__} did not raise {error.__name__}")


def main(url: str) -> None:
    """Do what a bandwidth agent and the port's bindings do, and check each answer."""
    conf = configuration(url)
    client = PlacementAPIClient(conf)
    host, bridge, group, consumer = (str(uuid.uuid4()) for _ in range(4))

    # An agent's providers: the host, and a bridge below it that is renamed
    assert client.create_resource_provider({"name": host, "uuid": host})["generation"] == 0
    for name in (f"{host}:br0", f"{host}:br1"):
        provider = client.ensure_resource_provider({"name": name, "uuid": bridge, "parent_provider_uuid": host})
        assert (provider["name"], provider["root_provider_uuid"]) == (name, host)
    client.update_trait("CUSTOM_PHYSNET_TEST")
    client.update_resource_class("CUSTOM_TEST_BANDWIDTH")
    assert client.update_resource_provider_inventories(bridge, {BANDWIDTH: inventory(10)}, 0) is not None
    client.update_resource_provider_inventory(bridge, inventory(2000), BANDWIDTH)
    assert client.get_inventory(bridge, BANDWIDTH)["total"] == 2000
    traits = client.update_resource_provider_traits(bridge, ["CUSTOM_PHYSNET_TEST"])
    assert traits["traits"] == ["CUSTOM_PHYSNET_TEST"]
    # The segments plug-in's aggregates, at the microversion that it names
    PlacementAPIClient(conf, openstack_api_version="placement 1.1").associate_aggregates(bridge, [group])
    assert client.list_aggregates(bridge)["aggregates"] == [group]
    (member,) = client.list_resource_providers(member_of=group)["resource_providers"]
    assert member["uuid"] == bridge

    # A port's bandwidth, which a policy changes
    amounts = {"allocations": {bridge: {"resources": {BANDWIDTH: 1000}}}, "project_id": "p", "user_id": "u"}
    client.update_allocation(consumer, {**amounts, "consumer_generation": None})
    client.update_qos_allocation(consumer, {bridge: {BANDWIDTH: 500}})
    assert client.list_allocations(consumer)["allocations"][bridge]["resources"] == {BANDWIDTH: 1500}

    # Its errors are made from our answers
    raises(exceptions.PlacementResourceProviderNotFound, client.get_resource_provider, group)
    raises(exceptions.PlacementInventoryNotFound, client.get_inventory, bridge, "VCPU")
    raises(exceptions.PlacementTraitNotFound, client.get_trait, "CUSTOM_ABSENT")
    raises(exceptions.PlacementAllocationRemoved, client.update_qos_allocation, group, {bridge: {BANDWIDTH: 1}})
    raises(
        exceptions.PlacementResourceProviderGenerationConflict,
        client.update_resource_provider_inventories,
        bridge,
        {BANDWIDTH: inventory(10)},
        0,
    )
    raises(exceptions.PlacementClientError, client.delete_resource_provider, bridge)

    client.update_allocation(
        consumer,
        {"allocations": {}, "project_id": "p", "user_id": "u", "consumer_generation": 2},
    )
    client.delete_resource_provider(bridge)
    client.delete_resource_provider(host)
    client.delete_trait("CUSTOM_PHYSNET_TEST")
    client.delete_resource_class("CUSTOM_TEST_BANDWIDTH")


if __name__ == "__main__":
    main(sys.argv[1])
