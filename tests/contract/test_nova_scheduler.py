# SPDX-License-Identifier: Apache-2.0
"""Nova's scheduler RPC 4.5 with plain primitives: a worker, a memory store, and Placement's API beside it."""

import uuid

import pytest

from rpcapi import errors
from rpcapi.resources import transient
from scheduler_svc.nova.bridge import signals
from scheduler_svc.nova.bus import exceptions
from tests.support.bus.bus_peer import eventually
from tests.support.nova import nova_clouds
from tests.support.nova.nova_clouds import (
    NovaCloud,
    allocation_request,
    destination,
    fields_of,
    hosts_of,
    spec,
)

RESOURCES = {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 4}  # of the recorded flavor
OTHER_CELL = "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def cloud():
    created = NovaCloud()
    created.start()
    yield created
    created.stop()


def test_boot_claims_the_selected_host_and_names_alternates(cloud):
    uuids = {cloud.add_host(name): name for name in ("h1", "h2", "h3", "h4")}
    (consumer,), ((selected, *alternates),) = cloud.select(spec())
    fields = fields_of(selected)
    assert uuids[fields["compute_node_uuid"]] == fields["service_host"] == fields["nodename"]
    assert (fields["cell_uuid"], fields["availability_zone"]) == (nova_clouds.CELL, "nova")
    assert fields["allocation_request_version"] == "1.36"
    assert allocation_request(selected) == {
        "allocations": {fields["compute_node_uuid"]: {"resources": RESOURCES}},
        "mappings": {"": [fields["compute_node_uuid"]]},
    }
    assert cloud.allocations_of(consumer) == ({fields["compute_node_uuid"]: RESOURCES}, 1)
    assert len(alternates) == 2
    assert len({fields["service_host"], *hosts_of([alternates])[0]}) == 3
    assert selected["nova_object.version"] == "1.1"


@pytest.mark.parametrize(
    "refusal",
    [
        errors.StoreUnavailable(why="away"),
        errors.NoValidHost(reason="1 changed meanwhile", reasons={transient.CHANGED_MEANWHILE: 1}),
    ],
    ids=["store away", "changed"],
)
def test_request_is_decided_again_while_its_refusal_may_pass(cloud, monkeypatch, refusal):
    cloud.add_host("h1")
    refusals, prepare_all = [refusal] * 2, cloud.store.prepare_all

    def prepare(*args):
        if refusals:
            raise refusals.pop()
        return prepare_all(*args)

    monkeypatch.setattr(cloud.store, "prepare_all", prepare)
    _, selections = cloud.select(spec())
    assert hosts_of(selections) == [["h1"]]
    assert not refusals


def test_conductor_can_put_an_alternate_in_the_place_of_the_claim(cloud):
    for name in ("h1", "h2"):
        cloud.add_host(name)
    (consumer,), ((_, alternate),) = cloud.select(spec())
    assert cloud.placement.call("DELETE", f"/allocations/{consumer}").status == 204
    body = allocation_request(alternate) | {
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    assert cloud.placement.call("PUT", f"/allocations/{consumer}", body).status == 204


def test_several_instances_are_claimed_all_or_none(cloud):
    for name in ("h1", "h2"):
        cloud.add_host(name, {**nova_clouds.SIZES, "VCPU": 4})
    consumers, selections = cloud.select(spec(), 3)
    hosts = hosts_of(selections)
    assert len(selections) == 3
    assert {len(row) for row in hosts} == {1}, "no host of this request is an alternate"
    assert all(cloud.allocations_of(consumer)[0] for consumer in consumers)
    with pytest.raises(exceptions.NoValidHost):
        cloud.select(spec(), 2)
    assert sum(len(cloud.store.claims(consumer=consumer)[0]) for consumer in consumers) == 3


def test_nothing_fits_is_refused_as_placement_would(cloud):
    cloud.add_host("h1", {**nova_clouds.SIZES, "VCPU": 1})
    with pytest.raises(exceptions.NoValidHost) as caught:
        cloud.select(spec())
    assert (str(caught.value), caught.value.kwargs["reason"]) == ("No valid host was found. ", "")


def test_host_that_is_down_is_refused_as_a_filter_would(cloud):
    cloud.add_host("h1", up=False)
    with pytest.raises(exceptions.NoValidHost, match="There are not enough hosts available"):
        cloud.select(spec())


def test_reason_is_what_placement_would_lack_whatever_filters_say(cloud):
    cloud.add_host("h1", {**nova_clouds.SIZES, "VCPU": 1}, up=False)
    cloud.add_host("h2", {**nova_clouds.SIZES, "VCPU": 1})
    with pytest.raises(exceptions.NoValidHost, match=r"No valid host was found\. $"):
        cloud.select(spec(ignore_hosts=["h2"]))
    cloud.add_host("h3")
    with pytest.raises(exceptions.NoValidHost, match="There are not enough hosts available"):
        cloud.select(spec(ignore_hosts=["h2", "h3"]))


def test_case_of_service_hosts_does_not_matter(cloud):
    for name in ("h1", "H2"):
        cloud.add_host(name)
    assert hosts_of(cloud.select(spec(ignore_hosts=["H1"]))[1]) == [["H2"]]
    assert hosts_of(cloud.select(spec(force_hosts=["h2"]))[1]) == [["H2"]]


def test_members_of_an_affinity_group_have_no_alternates_that_would_part_them(cloud):
    for name in ("h1", "h2"):
        cloud.add_host(name)
    group = {"uuid": str(uuid.uuid4()), "policy": "affinity", "members": [], "hosts": []}
    together = spec(instance_group=nova_clouds.nova_object("InstanceGroup", "1.11", group))
    _, ((first,), (second,)) = cloud.select(together, 2)
    assert fields_of(first)["service_host"] == fields_of(second)["service_host"]


def test_policy_of_novas_group_is_recorded_and_not_changed(cloud):
    for name in ("h1", "h2"):
        cloud.add_host(name)
    group = {"uuid": str(uuid.uuid4()), "policy": "anti-affinity", "members": [], "hosts": []}

    def select(project="p", **changes):
        instance_group = nova_clouds.nova_object("InstanceGroup", "1.11", group | changes)
        return hosts_of(cloud.select(spec(instance_group=instance_group, project_id=project))[1])

    (first,) = select()
    for changes, why in (
        ({"policy": "affinity"}, f"Server group {group['uuid']} has group_policy anti-affinity, not affinity"),
        ({"_rules": {"max_server_per_host": "9"}}, "has group_max_per_host 1, not 9"),
        ({"project": "q"}, f"Server group {group['uuid']} was not found"),
    ):
        with pytest.raises(exceptions.NoValidHost, match=why):
            select(**changes)
    assert {*first, *select()[0]} == {"h1", "h2"}


def test_owner_of_novas_group_is_the_group_s_project(cloud):
    cloud.add_host("h1")
    group = {"uuid": str(uuid.uuid4()), "policy": "affinity", "project_id": "p", "members": [], "hosts": []}
    instance_group = nova_clouds.nova_object("InstanceGroup", "1.11", group)
    for project in ("admin", "p"):
        assert hosts_of(cloud.select(spec(instance_group=instance_group, project_id=project))[1]) == [["h1"]]


def test_alternates_of_an_affinity_group_are_hosts_that_it_is_already_on(cloud):
    """Given a group that a live migration has spread over two hosts, as Nova's late check permits."""
    for name in ("h1", "h2", "h3"):
        cloud.add_host(name)
    group = {"uuid": str(uuid.uuid4()), "policy": "affinity", "members": [], "hosts": ["h1", "h2"]}
    together = spec(instance_group=nova_clouds.nova_object("InstanceGroup", "1.11", group))
    _, rows = cloud.select(together, 2)
    assert [sorted(row) for row in hosts_of(rows)] == [["h1", "h2"]] * 2


def test_evacuation_keeps_what_the_instance_holds(cloud):
    old = cloud.add_host("h1")
    (consumer,), _ = cloud.select(spec())
    new = cloud.add_host("h2")
    cloud.follow()
    answer = cloud.client.select(spec(ignore_hosts=["h1"]), [consumer], return_alternates=False)
    assert hosts_of(answer) == [["h2"]]
    assert allocation_request(answer[0][0])["allocations"].keys() == {new}
    assert cloud.allocations_of(consumer) == ({old: RESOURCES, new: RESOURCES}, 2)


def test_rebuild_answers_the_host_without_a_claim_though_it_is_full(cloud):
    cloud.add_host("h1", RESOURCES)
    cloud.add_host("h2")
    (consumer,), _ = cloud.select(spec(requested_destination=destination(host="h1")))
    before = cloud.allocations_of(consumer)
    hints = {"_nova_check_type": ["rebuild"]}
    rebuild = spec(force_hosts=["h1"], force_nodes=["h1"], scheduler_hints=hints)
    ((selected,),) = cloud.client.select(rebuild, [consumer], return_alternates=False)
    assert fields_of(selected)["service_host"] == "h1"
    assert allocation_request(selected) is None
    assert cloud.allocations_of(consumer) == before


def test_forced_host_may_be_down_but_not_full(cloud):
    cloud.add_host("h1", RESOURCES, up=False)
    cloud.add_host("h2")
    _, selections = cloud.select(spec(force_hosts=["h1"]))
    assert hosts_of(selections) == [["h1"]]
    with pytest.raises(exceptions.NoValidHost, match=r"No valid host was found\. $"):
        cloud.select(spec(force_hosts=["h1"]))


def test_unknown_host_is_named_in_the_reason(cloud):
    cloud.add_host("h1")
    with pytest.raises(exceptions.NoValidHost, match="No such host - host: h9 node: None "):
        cloud.select(spec(requested_destination=destination(host="h9")))


def test_instance_stays_in_its_cell_unless_it_may_cross(cloud):
    cloud.add_host("h1")
    cloud.add_host("h2", cell=OTHER_CELL)
    stay = destination(cell=nova_clouds.cell(OTHER_CELL))
    assert hosts_of(cloud.select(spec(requested_destination=stay))[1]) == [["h2"]]
    cross = destination(cell=nova_clouds.cell(OTHER_CELL), allow_cross_cell_move=True)
    _, selections = cloud.select(spec(requested_destination=cross, ignore_hosts=["h2"]))
    assert hosts_of(selections) == [["h1"]]


def test_alternates_are_in_the_cell_of_the_selected_host(cloud):
    for name in ("h1", "h2"):
        cloud.add_host(name)
    for name in ("h3", "h4"):
        cloud.add_host(name, cell=OTHER_CELL)
    for _ in range(4):
        _, (row,) = cloud.select(spec())
        assert len({fields_of(selection)["cell_uuid"] for selection in row}) == 1


def test_zone_is_that_of_an_aggregate(cloud):
    zone = {"hosts": [f"@api/{cloud.add_host('h1')}"], "metadata": {"availability_zone": "z1"}}
    cloud.put("aggregate", str(uuid.uuid4()), zone)
    cloud.add_host("h2")
    _, ((selected,),) = cloud.select(spec(availability_zone="z1"))
    assert (fields_of(selected)["service_host"], fields_of(selected)["availability_zone"]) == ("h1", "z1")
    _, selections = cloud.select(spec(availability_zone="nova", ignore_hosts=["h1"]))
    assert hosts_of(selections) == [["h2"]], "the default zone has no aggregate and so excludes no host"


def test_dedicated_cpus_go_to_pcpu_and_else_to_vcpu(cloud):
    old = cloud.add_host("h1")
    (consumer,), _ = cloud.select(spec("dedicated"))
    assert cloud.allocations_of(consumer)[0][old] == RESOURCES
    new = cloud.add_host("h2", {"PCPU": 3, "MEMORY_MB": 4096, "DISK_GB": 100}, traits=["HW_CPU_HYPERTHREADING"])
    (consumer,), _ = cloud.select(spec("dedicated"))
    assert cloud.allocations_of(consumer)[0] == {new: {"PCPU": 3, "MEMORY_MB": 512, "DISK_GB": 4}}


def test_anti_affinity_counts_members_that_nova_names(cloud):
    for name in ("h1", "h2"):
        cloud.add_host(name)
    group = {"uuid": str(uuid.uuid4()), "policy": "anti-affinity", "members": [], "hosts": ["h1"]}
    with_group = spec(instance_group=nova_clouds.nova_object("InstanceGroup", "1.11", group))
    assert hosts_of(cloud.select(with_group)[1]) == [["h2"]]
    with pytest.raises(exceptions.NoValidHost, match="There are not enough hosts available"):
        cloud.select(with_group)


def nic_group(port, amount):
    fields = {"requester_id": port, "use_same_provider": True, "resources": {"CUSTOM_NIC": amount}}
    return nova_clouds.nova_object("RequestGroup", "1.3", fields)


def test_mappings_name_the_provider_of_each_requester(cloud):
    root = cloud.add_host("h1")
    assert cloud.placement.call("PUT", "/resource_classes/CUSTOM_NIC").status == 201
    nic = cloud.placement.create("h1:nic", parent=root)
    cloud.placement.set_inventories(nic, CUSTOM_NIC=2)
    port = str(uuid.uuid4())
    (consumer,), ((selected,),) = cloud.select(spec(requested_resources=[nic_group(port, 1)]))
    assert allocation_request(selected) == {
        "allocations": {root: {"resources": RESOURCES}, nic: {"resources": {"CUSTOM_NIC": 1}}},
        "mappings": {"": [root], port: [nic]},
    }
    assert cloud.allocations_of(consumer)[0] == {root: RESOURCES, nic: {"CUSTOM_NIC": 1}}


def test_reason_is_what_placement_would_lack_if_no_tree_serves_all_groups(cloud):
    """Given two groups, each of which the provider could serve alone."""
    root = cloud.add_host("h1")
    assert cloud.placement.call("PUT", "/resource_classes/CUSTOM_NIC").status == 201
    nic = cloud.placement.create("h1:nic", parent=root)
    cloud.placement.set_inventories(nic, CUSTOM_NIC=3)
    requested = [nic_group(str(uuid.uuid4()), amount) for amount in (1, 3)]
    with pytest.raises(exceptions.NoValidHost, match=r"No valid host was found\. $"):
        cloud.select(spec(requested_resources=requested))
    with pytest.raises(exceptions.NoValidHost, match="There are not enough hosts available"):
        cloud.select(spec(requested_resources=requested[:1], ignore_hosts=["h1"]))


def test_repeated_call_is_answered_as_the_first(cloud):
    for name in ("h1", "h2", "h3"):
        cloud.add_host(name)
    cloud.follow()
    context, consumer = nova_clouds.new_context(), str(uuid.uuid4())
    first, second = (cloud.client.select(spec(), [consumer], context) for _ in range(2))
    assert fields_of(first[0][0])["service_host"] == fields_of(second[0][0])["service_host"]
    assert cloud.allocations_of(consumer)[1] == 1


def test_caller_without_objects_gets_mappings(cloud):
    cloud.add_host("h1")
    _, selections = cloud.select(spec(), return_objects=False)
    assert selections == [{"host": "h1", "nodename": "h1", "limits": {}}]


def test_caller_that_names_no_instance_claims_nothing(cloud):
    cloud.add_host("h1")
    cloud.follow()
    answer = cloud.client.select(spec(num_instances=2), None, version="4.3", return_objects=False)
    assert [row["host"] for row in answer] == ["h1", "h1"]
    assert not cloud.store.claims()[0]


def test_unreadable_spec_is_refused_with_the_reason(cloud):
    cloud.add_host("h1")
    with pytest.raises(exceptions.NoValidHost, match="flavor is missing"):
        cloud.select(spec(flavor=None))


def test_ping_is_answered(cloud):
    assert cloud.client.call(None, "ping", version="1.1", namespace="baseapi", arg="x") == {
        "service": "scheduler",
        "arg": "x",
    }


def test_casts_change_nothing_but_wake_the_bridge(cloud):
    cloud.add_host("h1")
    position = cloud.store.state.position
    before = signals.reading_requests(cloud.store)
    aggregate = nova_clouds.nova_object("Aggregate", "1.3", {"uuid": str(uuid.uuid4()), "hosts": ["h1"]})
    cloud.client.cast_to_all("update_aggregates", version="4.1", aggregates=[aggregate])
    cloud.client.cast_to_all("delete_aggregate", version="4.1", aggregate=aggregate)
    cloud.client.cast_to_all("update_instance_info", host_name="h1", instance_info={})
    cloud.client.cast_to_all("delete_instance_info", host_name="h1", instance_uuid=str(uuid.uuid4()))
    cloud.client.cast_to_all("sync_instance_info", host_name="h1", instance_uuids=[])
    assert hosts_of(cloud.select(spec(), return_alternates=False)[1]) == [["h1"]]
    eventually(lambda: signals.reading_requests(cloud.store) > before, "no request to the bridge")
    entries = cloud.store.follow(position, 0)
    assert {entry.kind for entry in entries} <= {"used", "state"}
    namespaces = {namespace for entry in entries if entry.kind == "state" for namespace in entry.payload}
    assert namespaces <= {signals.NAMESPACE}
