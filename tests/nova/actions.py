# SPDX-License-Identifier: Apache-2.0
"""Steps that several tests of a Nova cloud take."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from devstack.nova import roles
from devstack.nova.client import NOT_FOUND, CallFailed, NovaClient, wait_until
from tests.nova.known_hosts import wait_for_host
from tests.support.nova.checked_cloud import CheckedCloud

SMALL = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 4}
LARGE = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 8}
DISABLED = "COMPUTE_STATUS_DISABLED"


def host_of(nova: NovaClient, uuid: str) -> str:
    """Return the host of a server."""
    host: str = nova.server(uuid)["OS-EXT-SRV-ATTR:host"]
    return host


def provider_of(cloud: CheckedCloud, host: str) -> str:
    """Return the provider of a host."""
    (provider,) = cloud.placement.get(f"/resource_providers?name={host}")["resource_providers"]
    uuid: str = provider["uuid"]
    return uuid


def boot(cloud: CheckedCloud, flavor: str = "small", **options: object) -> str:
    """Boot a server and wait until it is active."""
    uuid = cloud.nova.boot("server", flavor, **options)
    cloud.nova.wait_for([uuid], "ACTIVE")
    return uuid


def wait_deleted(nova: NovaClient, uuids: Sequence[str]) -> None:
    for uuid in uuids:
        wait_until(partial(_is_deleted, nova, uuid), f"the deletion of {uuid}")


def _is_deleted(nova: NovaClient, uuid: str) -> bool:
    try:
        nova.server(uuid)
    except CallFailed as why:
        if why.status == NOT_FOUND:
            return True
        raise
    return False


def hosts_tried(cloud: CheckedCloud, server: str, key: str) -> list[str]:
    """Return the hosts on which the simulated hypervisor was asked, in order."""
    return (cloud.layout.state / "attempts" / f"{server}.{key}").read_text().split()


def migration_of(nova: NovaClient, server: str) -> str:
    """Return the consumer of a server's last migration."""
    migrations = nova.get(f"/os-migrations?instance_uuid={server}")["migrations"]
    uuid: str = max(migrations, key=lambda migration: migration["id"])["uuid"]
    return uuid


def kill_compute(cloud: CheckedCloud, host: str) -> None:
    """Kill the compute of a host, and declare the host down."""
    cloud.process(host).kill()
    cloud.nova.call("PUT", f"/os-services/{_service(cloud, host)['id']}", {"forced_down": True})


def restart_compute(cloud: CheckedCloud, host: str, **env: str) -> None:
    """Start a killed compute unless it runs, and declare its host up once it serves.

    ``env`` are additional environment variables, for the simulated hypervisor.
    """
    before = _service(cloud, host)["updated_at"]
    if cloud.process(host).pid is None:
        daemon = roles.compute(cloud.parts, host)
        cloud.spawn(replace(daemon, env={**daemon.env, **env}))
    wait_until(lambda: _service(cloud, host)["updated_at"] != before, f"{host} to report")
    cloud.nova.call("PUT", f"/os-services/{_service(cloud, host)['id']}", {"forced_down": False})
    wait_until(lambda: host in cloud.nova.hosts_up(), f"{host} to be up")
    wait_for_host(cloud, host, up=True, forced_down=False)


def _service(cloud: CheckedCloud, host: str) -> dict[str, Any]:
    (service,) = cloud.nova.get(f"/os-services?binary=nova-compute&host={host}")["services"]
    record: dict[str, Any] = service
    return record


def set_status(cloud: CheckedCloud, host: str, status: str) -> None:
    """Make the compute service of a host ``disabled`` or ``enabled``, and wait until the scheduler decides by it."""
    disabled = status == "disabled"
    cloud.nova.call("PUT", f"/os-services/{_service(cloud, host)['id']}", {"status": status})
    wait_until(lambda: (DISABLED in traits_of(cloud, host)) == disabled, f"{host} to be {status}")
    wait_for_host(cloud, host, disabled=disabled)


def traits_of(cloud: CheckedCloud, host: str) -> list[str]:
    """Return the traits of a host's provider."""
    traits: list[str] = cloud.placement.get(f"/resource_providers/{provider_of(cloud, host)}/traits")["traits"]
    return traits


def fill(cloud: CheckedCloud, *hosts: str) -> list[str]:
    """Boot a server that takes all of its host on each of the hosts, and return the servers."""
    uuids = [cloud.nova.boot(f"full-{host}", "whole", availability_zone=f"nova:{host}") for host in hosts]
    cloud.nova.wait_for(uuids, "ACTIVE")
    return uuids


def refused(cloud: CheckedCloud, flavor: str = "small", **options: object) -> str:
    """Boot a server, wait until it is refused, and return what Nova says about it; it holds nothing."""
    (server,) = cloud.nova.wait_for([cloud.nova.boot("refused", flavor, **options)], "ERROR")
    assert cloud.placement.allocations(server["id"]) == {}
    message: str = server["fault"]["message"]
    return message


def aggregates_of(cloud: CheckedCloud, host: str) -> list[str]:
    """Return the aggregates of a host's provider."""
    aggregates: list[str] = cloud.placement.get(f"/resource_providers/{provider_of(cloud, host)}/aggregates")[
        "aggregates"
    ]
    return aggregates


def create_child(
    cloud: CheckedCloud,
    name: str,
    parent: str,
    inventories: Mapping[str, Mapping[str, float]],
    traits: Sequence[str] = (),
) -> str:
    """Create a provider below another, and return its uuid.

    The first generation of a provider is not 0 where the store has begun a new epoch.
    """
    record = cloud.placement.call("POST", "/resource_providers", {"name": name, "parent_provider_uuid": parent})
    uuid: str = record["uuid"]
    generation = {"resource_provider_generation": record["generation"]}
    path = f"/resource_providers/{uuid}"
    if inventories:
        answer = cloud.placement.call("PUT", f"{path}/inventories", {"inventories": inventories, **generation})
        generation = {"resource_provider_generation": answer["resource_provider_generation"]}
    if traits:
        cloud.placement.call("PUT", f"{path}/traits", {"traits": list(traits), **generation})
    return uuid
