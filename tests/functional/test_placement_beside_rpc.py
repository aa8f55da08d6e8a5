# SPDX-License-Identifier: Apache-2.0
"""A cluster with gantt-placement: what its clients make serves requests by RPC, and an operator sees it."""

import json
import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devstack import exercise
from devstack.cluster_size import ClusterSize
from rpcapi import errors, objects
from scheduler_svc.core.records import ClaimRef
from tests.functional.placement_deployment import READY_SECONDS, Deployment, holding
from tests.support.clusters import booting, clusters, truth
from tests.support.clusters.clusters import RunningCluster
from tests.support.placement.client import PlacementClient

SIZE = ClusterSize(computes=2, nodes_per_host=1, schedulers=1, placement_port=0)
SLOTS, SPACE = "CUSTOM_SLOT", "CUSTOM_SPACE_GB"
AGGREGATE = str(uuid.uuid4())


@pytest.fixture(scope="module")
def policy_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policy") / "policy.yaml"
    path.write_text("{}\n")
    return path


@pytest.fixture(scope="module")
def cluster(policy_file: Path) -> Iterator[RunningCluster]:
    overrides = {"placement": {"oslo_policy": {"policy_file": str(policy_file)}}}
    with clusters.running_cluster(SIZE, overrides) as running:
        assert running.cluster.placement_url is not None
        exercise.wait_for_placement(running.cluster.placement_url, READY_SECONDS)
        yield running


@pytest.fixture(scope="module")
def deployment(cluster: RunningCluster) -> Iterator[Deployment]:
    deployment = Deployment(cluster)
    truth.until("two processes", lambda: len(clusters.workers(deployment.daemon)) == 2)
    yield deployment
    deployment.partition.store.close()


@pytest.fixture(scope="module")
def node(deployment: Deployment) -> dict[str, Any]:
    """The provider of the agent's node that clients of the API extend."""
    providers = deployment.get("/resource_providers")["resource_providers"]
    (node,) = (provider for provider in providers if provider["name"].startswith("compute0"))
    assert isinstance(node, dict)
    return node


def make(deployment: Deployment, name: str, resource_class: str, total: int, parent: str | None = None) -> str:
    """Create a provider with an inventory; return its UUID."""
    provider = str(uuid.uuid4())
    body = {"name": name, "uuid": provider} | ({} if parent is None else {"parent_provider_uuid": parent})
    change(deployment, "POST", "/resource_providers", body)
    change(deployment, "PUT", f"/resource_classes/{resource_class}")
    inventories = {resource_class: {"total": total}}
    body = {"resource_provider_generation": generation(deployment, provider), "inventories": inventories}
    change(deployment, "PUT", f"/resource_providers/{provider}/inventories", body)
    return provider


def change(deployment: Deployment, method: str, path: str, body: Any = None) -> None:
    status, answer = deployment.client.call(method, path, body)
    assert status < 300, (path, answer)


def generation(deployment: Deployment, provider: str) -> int:
    shown: int = deployment.get(f"/resource_providers/{provider}")["generation"]
    return shown


@pytest.fixture(scope="module")
def slots(deployment: Deployment, node: dict[str, Any]) -> str:
    """A provider of four slots below the agent's node."""
    return make(deployment, "slots of compute0", SLOTS, 4, node["uuid"])


@pytest.fixture(scope="module")
def pool(deployment: Deployment, node: dict[str, Any]) -> str:
    """A pool of ten gigabytes that shares with the agent's node."""
    pool = make(deployment, "pool", SPACE, 10)
    body: dict[str, Any] = {"traits": ["MISC_SHARES_VIA_AGGREGATE"]}
    body["resource_provider_generation"] = generation(deployment, pool)
    change(deployment, "PUT", f"/resource_providers/{pool}/traits", body)
    for provider in (pool, node["uuid"]):
        body = {"aggregates": [AGGREGATE], "resource_provider_generation": generation(deployment, provider)}
        change(deployment, "PUT", f"/resource_providers/{provider}/aggregates", body)
    return pool


def select(cluster: RunningCluster, **fields: Any) -> tuple[str, str]:
    """Claim by select_destinations; return the consumer and the chosen node. Raises NoValidHost."""
    consumer = str(uuid.uuid4())
    spec = objects.RequestSpec.of(**fields)
    selections = cluster.admin.call(cluster.admin.scheduler.select_destinations, spec, [consumer])
    return consumer, selections.names[selections.chosen[0]]


def end(deployment: Deployment, consumer: str) -> None:
    deployment.partition.store.abort([ClaimRef(consumer, 1)])


def allocations_of(deployment: Deployment, consumer: str) -> dict[str, Any]:
    allocations = deployment.get(f"/allocations/{consumer}")["allocations"]
    return {provider: part["resources"] for provider, part in allocations.items()}


def used(deployment: Deployment, provider: str) -> dict[str, int]:
    usages: dict[str, int] = deployment.get(f"/resource_providers/{provider}/usages")["usages"]
    return usages


def eventually_select(cluster: RunningCluster, **fields: Any) -> tuple[str, str]:
    """Claim once the scheduler's replica has what the API made, which it follows by itself."""

    def attempt() -> tuple[str, str] | None:
        try:
            return select(cluster, **fields)
        except errors.NoValidHost:
            return None

    return truth.until("a selection", attempt)


def test_a_child_of_a_clients_making_serves_a_request_group(
    cluster: RunningCluster, deployment: Deployment, node: dict[str, Any], slots: str
) -> None:
    groups = {"_slots": {"resources": {SLOTS: 3}}}
    before = generation(deployment, slots)
    consumer, host = eventually_select(cluster, resources={"VCPU": 1}, groups=groups)
    # Seen over HTTP at once, and the generation of the API's provider has moved
    assert host == node["name"]
    assert allocations_of(deployment, consumer) == {node["uuid"]: {"VCPU": 1}, slots: {SLOTS: 3}}
    assert used(deployment, slots) == {SLOTS: 3}
    assert generation(deployment, slots) == before + 1
    # Two more fit nowhere, for either side
    with pytest.raises(errors.NoValidHost):
        select(cluster, resources={"VCPU": 1}, groups={"_slots": {"resources": {SLOTS: 2}}})
    body = holding("p", {}, None) | {"allocations": {slots: {"resources": {SLOTS: 2}}}}
    assert deployment.client.call("PUT", f"/allocations/{uuid.uuid4()}", body)[0] == 409
    end(deployment, consumer)
    assert used(deployment, slots) == {SLOTS: 0}


def test_a_pool_of_a_clients_making_serves_what_shares_with_it(
    cluster: RunningCluster, deployment: Deployment, node: dict[str, Any], pool: str
) -> None:
    consumer, host = eventually_select(cluster, resources={"VCPU": 1, SPACE: 6})
    assert host == node["name"]
    assert allocations_of(deployment, consumer) == {node["uuid"]: {"VCPU": 1}, pool: {SPACE: 6}}
    assert used(deployment, pool) == {SPACE: 6}
    candidates = deployment.get(f"/allocation_candidates?resources={SPACE}:5&limit=9")
    assert candidates["allocation_requests"] == []
    end(deployment, consumer)
    assert len(deployment.get(f"/allocation_candidates?resources={SPACE}:5&limit=9")["allocation_requests"]) == 1


def test_what_a_client_allocates_is_full_for_the_scheduler_at_once(
    cluster: RunningCluster, deployment: Deployment, pool: str
) -> None:
    consumer, _ = eventually_select(cluster, resources={"VCPU": 1, SPACE: 1})
    end(deployment, consumer)
    body = holding("p", {}, None) | {"allocations": {pool: {"resources": {SPACE: 10}}}}
    client = str(uuid.uuid4())
    change(deployment, "PUT", f"/allocations/{client}", body)
    with pytest.raises(errors.NoValidHost):
        select(cluster, resources={"VCPU": 1, SPACE: 1})
    deployment.client.delete(f"/allocations/{client}")
    end(deployment, eventually_select(cluster, resources={"VCPU": 1, SPACE: 10})[0])


def test_a_root_of_a_clients_making_is_no_destination(
    cluster: RunningCluster, deployment: Deployment, slots: str
) -> None:
    # No agent would start anything there. The decision knows the root: it has the class that only this one has.
    root = make(deployment, "root without an agent", "CUSTOM_ONLY_HERE", 8)
    consumer, _ = eventually_select(cluster, resources={"VCPU": 1}, groups={"_slots": {"resources": {SLOTS: 1}}})
    end(deployment, consumer)
    with pytest.raises(errors.NoValidHost):
        select(cluster, resources={"CUSTOM_ONLY_HERE": 1})
    change(
        deployment,
        "PUT",
        f"/allocations/{consumer}",
        holding("p", {}, None) | {"allocations": {root: {"resources": {"CUSTOM_ONLY_HERE": 8}}}},
    )
    deployment.client.delete(f"/allocations/{consumer}")
    deployment.client.delete(f"/resource_providers/{root}")


def test_commands_show_providers_and_allocations_of_the_api(
    cluster: RunningCluster, deployment: Deployment, node: dict[str, Any], slots: str, pool: str
) -> None:
    consumer = str(uuid.uuid4())
    body = holding("p", {}, None) | {"allocations": {pool: {"resources": {SPACE: 2}}, slots: {"resources": {SLOTS: 1}}}}
    change(deployment, "PUT", f"/allocations/{consumer}", body)

    def gantt(*arguments: str) -> Any:
        return json.loads(booting.gantt(cluster, *arguments, "-f", "json"))

    rows = {row["name"]: row for row in gantt("host", "list")}
    assert (rows["pool"]["owner"], rows["pool"]["state"]) == ("api", None)
    assert rows[node["name"]]["owner"] == "agent"
    shown = gantt("host", "show", "pool")
    assert (shown["uuid"], shown["aggregates"]) == (pool, [AGGREGATE])
    assert shown["resources"][SPACE]["used"] == 2
    below = gantt("host", "show", node["name"])["below"]
    assert ("slots of compute0", "api") in [(child["name"], child["owner"]) for child in below]
    assert gantt("host", "show", "slots of compute0")["parent"] == node["name"]
    (claim,) = gantt("claim", "list", "--host", "slots of compute0")
    assert (claim["consumer"], claim["owner"]) == (consumer, "api")
    assert "slots of compute0: 1 CUSTOM_SLOT" in booting.gantt(cluster, "claim", "show", consumer)
    assert gantt("claim", "verify")["clean"]
    deployment.client.delete(f"/allocations/{consumer}")


def test_sighup_applies_the_policy_file_in_every_process(deployment: Deployment, policy_file: Path) -> None:
    def statuses(role: str) -> set[int]:
        """Return the statuses for callers with a role, by connections to both processes."""
        statuses = set()
        for _ in range(16):
            client = PlacementClient(deployment.client._port, role)
            statuses.add(client.call("GET", "/resource_providers")[0])
            client.close()
        return statuses

    def reload(content: str) -> None:
        policy_file.write_text(content)
        assert deployment.daemon.pid is not None
        os.kill(deployment.daemon.pid, signal.SIGHUP)

    processes = clusters.workers(deployment.daemon)
    assert (statuses("observer"), statuses("admin")) == ({403}, {200})
    reload('"placement:resource_providers:list": "role:observer"\n')
    truth.until("the new rule in all processes", lambda: (statuses("observer"), statuses("admin")) == ({200}, {403}))
    # A malformed file is refused, and the rules stay
    refusals = deployment.daemon.log.read_text().count("policy_file")
    reload('"placement:resource_providers:list": [')
    truth.until(
        "refusals by all processes",
        lambda: deployment.daemon.log.read_text().count("policy_file") >= refusals + len(processes),
    )
    assert (statuses("observer"), statuses("admin")) == ({200}, {403})
    reload("{}\n")
    truth.until("the default in all processes", lambda: (statuses("observer"), statuses("admin")) == ({403}, {200}))
    assert clusters.workers(deployment.daemon) == processes
