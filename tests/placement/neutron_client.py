# SPDX-License-Identifier: Apache-2.0
"""What Neutron's agents do with Placement's API, by neutron-lib's client: run as a program with the API's URL."""

import sys
import uuid
from collections.abc import Callable
from typing import Any

from keystoneauth1 import exceptions as keystone
from keystoneauth1 import loading
from neutron_lib.exceptions import placement as exceptions  # type: ignore[import-not-found]
from neutron_lib.placement.client import PlacementAPIClient  # type: ignore[import-not-found]
from oslo_config import cfg

GROUP = "placement"
BANDWIDTH, INGRESS = "NET_BW_EGR_KILOBIT_PER_SEC", "NET_BW_IGR_KILOBIT_PER_SEC"


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
    bridge_of_one_agent(conf, client)
    tree_of_a_hypervisor(client)


def bridge_of_one_agent(conf: cfg.ConfigOpts, client: PlacementAPIClient) -> None:
    """Report a bridge, allocate from it and remove it."""
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


def tree_of_a_hypervisor(client: PlacementAPIClient) -> None:
    """Report agents and bridges below a hypervisor that Nova created, and change what ports and its server hold."""
    hypervisor, name = str(uuid.uuid4()), f"compute-{uuid.uuid4()}.example.org"
    client.create_resource_provider({"name": name, "uuid": hypervisor})
    client.update_resource_provider_inventories(hypervisor, {"VCPU": inventory(8)}, 0)
    (root,) = client.list_resource_providers(name=name)["resource_providers"]
    assert (root["uuid"], root["parent_provider_uuid"]) == (hypervisor, None)

    bridges = [provider_below(client, root, f"Open vSwitch agent {number}", "br0") for number in range(2)]
    members = client.list_resource_providers(in_tree=hypervisor)["resource_providers"]
    assert sorted(member["name"] for member in members) == sorted(
        [name, *(f"{name}:Open vSwitch agent {number}{end}" for number in range(2) for end in ("", ":br0"))]
    )
    (match,) = client.list_resource_providers(in_tree=hypervisor, uuid=bridges[1])["resource_providers"]
    assert match["root_provider_uuid"] == hypervisor
    matches = client.list_resource_providers(in_tree=hypervisor, resources=f"{BANDWIDTH}:1001")["resource_providers"]
    assert matches == []

    server = str(uuid.uuid4())
    amounts = {hypervisor: {"VCPU": 2}, bridges[0]: {BANDWIDTH: 400}, bridges[1]: {BANDWIDTH: 300, INGRESS: 200}}
    allocations = {provider: {"resources": resources} for provider, resources in amounts.items()}
    owner = {"project_id": "p", "user_id": "u"}
    client.update_allocation(server, {"allocations": allocations, **owner, "consumer_generation": None})

    def stored_amounts() -> dict[str, dict[str, int]]:
        stored = client.list_allocations(server)["allocations"]
        return {provider: allocation["resources"] for provider, allocation in stored.items()}

    # A port's policy grows, and another port goes: what has become 0 is removed
    client.update_qos_allocation(server, {bridges[0]: {BANDWIDTH: 100}, bridges[1]: {BANDWIDTH: -300, INGRESS: -50}})
    assert stored_amounts() == {hypervisor: {"VCPU": 2}, bridges[0]: {BANDWIDTH: 500}, bridges[1]: {INGRESS: 150}}
    client.update_qos_allocation(server, {bridges[1]: {INGRESS: -150}})
    assert stored_amounts() == {hypervisor: {"VCPU": 2}, bridges[0]: {BANDWIDTH: 500}}
    raises(
        exceptions.PlacementAllocationRpNotExists, client.update_qos_allocation, server, {bridges[1]: {BANDWIDTH: 1}}
    )
    # More than the bridge has is refused as it is; a change beside another one is repeated
    raises(keystone.Conflict, client.update_qos_allocation, server, {bridges[0]: {BANDWIDTH: 501}})
    change_beside(client, server, {bridges[0]: {BANDWIDTH: 100}})
    assert stored_amounts() == {hypervisor: {"VCPU": 2}, bridges[0]: {BANDWIDTH: 700}}

    generation = client.list_allocations(server)["consumer_generation"]
    client.update_allocation(server, {"allocations": {}, **owner, "consumer_generation": generation})
    for member in sorted(members, key=lambda member: member["name"].count(":"), reverse=True):
        client.delete_resource_provider(member["uuid"])


def provider_below(client: PlacementAPIClient, hypervisor: dict[str, Any], agent: str, bridge: str) -> str:
    """Report an agent below a hypervisor and its bridge with bandwidth; return the UUID of the bridge."""
    parent, name = hypervisor["uuid"], hypervisor["name"]
    for part in (agent, bridge):
        name = f"{name}:{part}"
        provider = client.ensure_resource_provider(
            {"name": name, "uuid": str(uuid.uuid4()), "parent_provider_uuid": parent}
        )
        assert (provider["parent_provider_uuid"], provider["root_provider_uuid"]) == (parent, hypervisor["uuid"])
        parent = provider["uuid"]
    inventories = {BANDWIDTH: inventory(1000), INGRESS: inventory(1000)}
    stored = client.update_resource_provider_inventories(parent, inventories)
    assert stored["resource_provider_generation"] == 1
    return str(parent)


def change_beside(client: PlacementAPIClient, consumer: str, difference: dict[str, dict[str, int]]) -> None:
    """Change an allocation twice: once more between the client's read and its write."""
    read = client.list_allocations

    def change_after(name: str) -> Any:
        client.list_allocations = read
        body = read(name)
        client.update_qos_allocation(name, difference)
        return body

    client.list_allocations = change_after
    client.update_qos_allocation(consumer, difference)


if __name__ == "__main__":
    main(sys.argv[1])
