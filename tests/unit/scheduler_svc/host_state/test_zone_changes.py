# SPDX-License-Identifier: Apache-2.0
"""Changes of aggregates that take a zone from servers, or give a host a second one, need to be forced."""

import pytest

from rpcapi import errors
from scheduler_svc.core.namespaces.registry import NamespaceRegistry
from scheduler_svc.core.records import Candidate, ClaimBatch, Intent
from scheduler_svc.host_state.aggregates import AggregateWriter
from tests.support.scheduler.deployments import PartitionedDeployment
from tests.support.scheduler.hosts import SMALL_REQUEST, node

EAST = {"id": "hall", "hosts": ["h1", "h2/0"], "metadata": {"availability_zone": "east"}}


class Cloud:
    """Two partitions; the aggregate "hall" is the zone "east" of h1 and h2/0. Node h4/0 reports zone "old"."""

    def __init__(self, **nodes_of_a):
        nodes = {name: node() for name in ("h1/0", "h1/1", "h2/0", "h2/1", "h3")} | {"h4/0": node(zone="old")}
        self.deployment = PartitionedDeployment(a=nodes | nodes_of_a, b={"b1": node()})
        self.writer = AggregateWriter(self.deployment.worker.partitions, NamespaceRegistry().find("aggregate"))
        self.writer.update([EAST])

    def boot(self, *hosts, partition="a"):
        store = self.deployment.stores[partition]
        state = store.snapshot()
        for host in hosts:
            intents = [Intent(f"vm-{host}", 1, [Candidate(host)])]
            batch = ClaimBatch(host, "p", "u", SMALL_REQUEST, intents, state.epoch, state.position, ttl_ms=60_000)
            assert store.prepare(batch).accepted

    def boot_many(self, host, count):
        """Boot servers that sort before those of ``boot``."""
        store = self.deployment.stores["a"]
        for start in range(0, count, 100):
            state = store.snapshot()
            intents = [Intent(f"a-{start + i:04}", 1, [Candidate(host)]) for i in range(min(100, count - start))]
            batch = ClaimBatch(f"{start}", "p", "u", {"VCPU": 1}, intents, state.epoch, state.position, ttl_ms=60_000)
            assert store.prepare(batch).accepted

    def documents(self):
        return [store.list_state("aggregate")[0] for store in self.deployment.stores.values()]

    def update(self, name="hall", force=False, **values):
        self.writer.update([{**EAST, "id": name, **values}], force=force)

    def refusal(self, change, **values):
        """Return the reason of a refused change, which has changed nothing; force it afterwards."""
        before = self.documents()
        with pytest.raises(errors.ZoneConflict) as caught:
            change(**values)
        assert self.documents() == before
        change(**values, force=True)
        assert self.documents() != before
        assert "--" not in caught.value.sentence, "the API has no options of commands"
        return caught.value.why


@pytest.fixture
def cloud():
    return Cloud()


NORTH = {"metadata": {"availability_zone": "north"}}


@pytest.mark.parametrize(
    "values",
    [NORTH, {"metadata": {}}, {"metadata": {"a": "b"}}, {"hosts": ["h2/0"]}, {"hosts": []}],
    ids=["renamed", "ended", "metadata replaced", "host removed", "all hosts removed"],
)
def test_zone_is_not_taken_from_a_host_with_servers(cloud, values):
    cloud.boot("h1/0")
    why = cloud.refusal(cloud.update, **values)
    assert why.startswith("zone 'east' is taken from h1/0 with 1 server: servers that requested it keep running")


def test_zone_with_servers_is_not_deleted(cloud):
    cloud.boot("h1/0", "h1/1", "h2/0")
    why = cloud.refusal(cloud.writer.delete, name="hall")
    assert "from h1/0, h1/1, h2/0 with 3 servers" in why


def test_servers_beyond_the_first_page_count():
    cloud = Cloud(**{"h1/0": node({"VCPU": 2000})})
    cloud.boot_many("h1/0", 1001)
    cloud.boot("h1/1")
    assert "from h1/0, h1/1 with 1002 servers" in cloud.refusal(cloud.writer.delete, name="hall")


def test_zone_with_servers_is_not_deleted_by_a_version(cloud):
    cloud.boot("h2/0")
    assert "from h2/0" in cloud.refusal(cloud.writer.delete, name="hall", version=3)


@pytest.mark.parametrize("values", [NORTH, {"metadata": {}}, {"hosts": []}])
def test_zone_without_servers_may_change(cloud, values):
    cloud.boot("h2/1", "h3", "h4/0")
    cloud.boot("b1", partition="b")
    cloud.update(**values)
    cloud.writer.delete("hall")


def test_changes_that_keep_the_zone_are_allowed(cloud):
    cloud.boot("h1/0", "h2/0")
    cloud.update(hosts=["h1", "h2/0", "h3"])
    cloud.update(metadata={**EAST["metadata"], "disk": "ssd"})
    cloud.update(hosts=["h1/0", "h2"])  # the host instead of its node, and the other way round
    cloud.update("other", metadata={"disk": "ssd"})
    cloud.writer.delete("other")


def test_zone_may_move_to_another_aggregate_in_one_call(cloud):
    cloud.boot("h1/0")
    renamed = {**EAST, "id": "other"}
    cloud.writer.update([{**EAST, "hosts": []}, renamed])
    cloud.writer.delete("hall")


def test_older_update_is_ignored(cloud):
    cloud.update(version=5)
    cloud.boot("h1/0")
    before = cloud.documents()
    cloud.update(version=4, hosts=[])
    assert cloud.documents() == before


@pytest.mark.parametrize("hosts", [["h1"], ["h1/0"], ["h2"], ["h2/0"]])
def test_second_zone_is_refused_without_servers_too(cloud, hosts):
    why = cloud.refusal(cloud.update, name="row", hosts=hosts, **NORTH)
    assert f"{hosts[0][:2]}" in why and "would be in zone 'north' and, by aggregate 'hall', in zone 'east'" in why


def test_other_aggregate_of_the_same_zone_is_allowed(cloud):
    cloud.update("row", hosts=["h1", "h3"])


def test_second_zone_that_exists_may_be_removed(cloud):
    cloud.update("row", hosts=["h1"], force=True, **NORTH)
    cloud.update(metadata={**EAST["metadata"], "disk": "ssd"})
    cloud.writer.delete("row")


def test_first_zone_of_a_host_with_servers_is_allowed(cloud):
    cloud.boot("h3")
    cloud.update("row", hosts=["h3"], **NORTH)


def test_reported_zone_counts_until_an_aggregate_has_one(cloud):
    cloud.boot("h4/0")
    cloud.update("old", hosts=["h4"], metadata={"availability_zone": "old"})
    cloud.writer.delete("old")  # the reported zone is the same
    assert "zone 'old' is taken from h4/0" in cloud.refusal(cloud.update, name="row", hosts=["h4"], **NORTH)


def test_servers_of_every_partition_count(cloud):
    cloud.update("row", hosts=["b1"], **NORTH)
    cloud.boot("b1", partition="b")
    assert "zone 'north' is taken from b1" in cloud.refusal(cloud.writer.delete, name="row")


def test_partition_whose_servers_are_not_known_prevents_the_change(cloud):
    cloud.deployment.take_away("a")
    with pytest.raises(errors.StoreUnavailable):
        cloud.update(**NORTH)
    assert cloud.deployment.stores["b"].find_state("aggregate", "hall")[1]["metadata"] == EAST["metadata"]
    with pytest.raises(errors.StoreUnavailable):
        cloud.update(**NORTH, force=True)
    assert cloud.deployment.stores["b"].find_state("aggregate", "hall")[1]["metadata"] == NORTH["metadata"]


@pytest.mark.parametrize("zone", ["", " ", " east", "east ", "ea\tst", "x" * 256])
def test_zone_that_no_request_can_name_is_refused(cloud, zone):
    before = cloud.documents()
    with pytest.raises(errors.InvalidHostState, match="availability_zone"):
        cloud.update(metadata={"availability_zone": zone}, force=True)
    assert cloud.documents() == before


def test_every_conflict_is_named(cloud):
    cloud.update("row", hosts=["b1"], **NORTH)
    cloud.update("side", hosts=["h3", "h4"], metadata={"availability_zone": "west"})
    cloud.boot("h1/0", "h2/0")
    cloud.boot("b1", partition="b")

    def change(force=False):
        ended = {"id": "row", "hosts": ["b1"], "metadata": {}}
        cloud.writer.update([{**EAST, "hosts": ["h3", "h4"]}, ended], force=force)

    second, east, north = cloud.refusal(change).split("; ")
    assert second == "hosts h3, h4 would be in zone 'east' and, by aggregate 'side', in zone 'west'"
    assert east.startswith("zone 'east' is taken from h1/0, h2/0 with 2 servers")
    assert north.startswith("zone 'north' is taken from b1 with 1 server")
