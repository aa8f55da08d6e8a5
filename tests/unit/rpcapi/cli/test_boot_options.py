# SPDX-License-Identifier: Apache-2.0
"""Command options that describe servers, and the request spec made from them."""

import pytest

from rpcapi import objects
from tests.unit.rpcapi.cli.fakes import CLOUD


def test_placement_options_are_in_the_spec(cluster, gantt):
    options = "--az az1 --trait CUSTOM_A --trait !CUSTOM_B --hint a=1 --hint a=2 --hint b=x=y --host h1 --not-host h2/n"
    cluster.scheduler.group("g")
    group = "--group g --group-policy anti-affinity --group-max-per-host 2"
    assert gantt("boot", "--flavor", "m1.tiny", *options.split(), *group.split()).code == 0
    spec, _uuids = cluster.conductor.builds[0]
    assert (spec.flavor, spec.availability_zone) == ("m1.tiny", "az1")
    assert (spec.required_traits, spec.forbidden_traits) == (["CUSTOM_A"], ["CUSTOM_B"])
    assert spec.hints == {"a": ["1", "2"], "b": "x=y"}
    assert (spec.force_hosts, spec.ignore_hosts) == (["h1"], ["h2/n"])
    assert (spec.group_id, spec.group_policy, spec.group_max_per_host) == ("g", "anti-affinity", 2)


def test_flavor_image_volumes_and_ports_become_groups(cluster, gantt, config_file):
    config_file.write_text(config_file.read_text() + CLOUD)
    options = "--property img_hv_type=kvm --property hw_architecture=aarch64 --volume size=20,pool=pool1,boot=true"
    port = "--port egress_kbps=100,physnet=net0 --driver solver"
    result = gantt("server", "boot", "--flavor", "gpu", "--image", "77", *options.split(), *port.split())
    assert result.code == 0
    spec, _uuids = cluster.conductor.builds[0]
    assert spec.resources == {"VCPU": 4, "MEMORY_MB": 4096}
    assert {suffix: group["resources"] for suffix, group in spec.groups.items()} == {
        "1": {"VGPU": 1},
        "_dev0": {"FPGA": 1},
        "_pci0": {"CUSTOM_A": 1},
        "_pci1": {"CUSTOM_PCI_8086_1572": 1},
        "_vol0": {"DISK_GB": 20},
        "_port0": {"NET_BW_EGR_KILOBIT_PER_SEC": 100},
    }
    properties = {"hw_architecture": "aarch64", "trait:CUSTOM_B": "required", "img_hv_type": "kvm"}
    assert spec.image == {"id": "77", "name": "debian", "properties": properties}
    assert (spec.required_traits, spec.groups_policy, spec.driver) == (["CUSTOM_B"], "none", "solver")


def test_aggregate_tree_and_any_trait_options_are_in_the_spec(cluster, gantt):
    options = "--member-of a,b --member-of c --not-member-of d --in-tree host/numa0 --trait CUSTOM_A,CUSTOM_B"
    cluster.scheduler.group("g")
    group = "--hint group=g --group-policy affinity"
    assert gantt("boot", "--flavor", "m1.tiny", *options.split(), *group.split()).code == 0
    spec, _uuids = cluster.conductor.builds[0]
    assert (spec.member_of, spec.forbidden_aggregates) == ([["a", "b"], ["c"]], ["d"])
    assert (spec.in_tree, spec.any_traits) == ("host/numa0", [["CUSTOM_A", "CUSTOM_B"]])
    assert (spec.group_id, spec.group_policy) == ("g", "affinity")


@pytest.mark.parametrize("options", ["--group g --hint group=g", "--hint group=g", "--hint group=g --hint group=g"])
def test_group_in_a_hint_is_the_group(cluster, gantt, options):
    cluster.scheduler.group("g")
    assert gantt("boot", "--flavor", "m1.tiny", *options.split()).code == 0
    spec, _uuids = cluster.conductor.builds[0]
    assert (spec.group_id, spec.hints) == ("g", {})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--group", ""], "the id or name of a server group is empty"),
        (["--hint", "group="], "the id or name of a server group is empty"),
        (["--group", "g", "--hint", "group=h"], "it names 2 server groups: h, g"),
        (["--hint", "group=g", "--hint", "group=h"], "it names 2 server groups: g, h"),
        (["--hint", "group=x"], "Server group x was not found"),
    ],
)
def test_unclear_group_is_refused(cluster, gantt, options, message):
    cluster.scheduler.group("g")
    cluster.scheduler.group("h")
    cluster.scheduler.groups[""] = objects.ServerGroup.of(id="", project="default", policy="affinity")
    result = gantt("boot", "--flavor", "m1.tiny", *options)
    assert (result.code, message in result.err, cluster.conductor.builds) == (1, True, [])


@pytest.mark.parametrize("option", ["--property", "--hint", "--volume", "--port"])
@pytest.mark.parametrize("text", ["size", "=1", ""])
def test_text_that_is_no_pair_is_named_with_its_option(cluster, gantt, option, text):
    result = gantt("boot", "--flavor", "m1.tiny", option, text)
    assert (result.code, result.out) == (2, "")
    assert result.err.endswith(f"argument {option}: {text!r} is not KEY=VALUE\n")
    assert cluster.conductor.builds == []
