# SPDX-License-Identifier: Apache-2.0
"""Random clouds and requests as plain dictionaries, for oracles, for a peer process, and as a host table."""

import json
from collections.abc import Sequence
from typing import Any, TypedDict

from hypothesis import strategies as st

from scheduler_svc.core.reads import Reads
from scheduler_svc.core.records import Snapshot
from scheduler_svc.core.request import DecisionContext, SchedulingRequest
from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler.hosts import EPOCH, node, provider


class Host(TypedDict):
    name: str
    up: bool
    enabled: bool
    total: dict[str, int]
    used: dict[str, int]
    metrics: dict[str, int]
    facts: dict[str, Any]
    host_ip: str
    instances: list[str]  # uuids


class Aggregate(TypedDict):
    name: str
    hosts: list[str]
    metadata: dict[str, str]


class Cloud(TypedDict):
    hosts: list[Host]
    aggregates: list[Aggregate]


class Group(TypedDict):
    policy: str
    members: list[str]
    most: int


class Image(TypedDict):
    id: str | None
    properties: dict[str, Any]


class Request(TypedDict):
    extra_specs: dict[str, str]
    image: Image
    flavor: str
    project: str
    hints: dict[str, Any]
    group: Group | None


HOSTS = tuple(f"h{number}" for number in range(6))
UUIDS = tuple(f"00000000-0000-4000-8000-00000000000{number}" for number in range(8))
NETWORKS = ("10.0.0.", "10.0.1.", "10.9.0.")

# Metadata of aggregates and extra specs of flavors; few words, so that they match often.
AGGREGATE_TEXTS = {
    "ssd": ("1", "2", " 3", "a", "a,b", "b , c", "x", "", "2.5"),
    "a:b": ("1", "a"),
    "instance_type": ("m1", "m1 , m2", "m2,a", ""),
    "os_type": ("linux", "linux,windows", "windows , bsd"),
    "hw_disk_bus": ("virtio", "scsi,virtio"),
    "os_require_quiesce": ("True", "true, False"),
    "filter_tenant_id": ("p1", "p2,p1", "p2 , a", ""),
    "filter_tenant_id_2": ("p2", "b"),
    "max_io_ops_per_host": ("1", "5", " 9 ", "x", "5,9", ""),
    "max_instances_per_host": ("20", "40", "55", "4.5"),
}
TEXT_CONDITIONS = (
    *("1", "a", "b", "= 2", ">= 2", "<= 2", "== 2", "!= 2", "s== a", "s!= a", "s< b", "s<= b", "s> a", "s>= b"),
    *("<in> a", "<in> 0", "<all-in> a b", "<all-in> a", "<or> a <or> b", "<or> x a <or>", "<or> 2 <or> 3"),
    *("= x", "== ", "s==", "<in>", "<all-in>", "<or>", "= 1e3", ">= nan", "== inf", " ", "  a", "", "QEMU", "Xen"),
    *("s== QEMU", "<or> QEMU <or> Xen", "<in> E", "<or> h0 <or> h1", "s!= h0", "<in> h", "h2", "['a', 'b']", "True"),
)
NUMBER_CONDITIONS = (
    *(f"{sign} {bound}" for sign in ("=", "==", "!=", ">=", "<=") for bound in (0, 1, 2, 1024, 40960)),
    *("1024", "2", "<or> 1 <or> 2048", "<in> 0", "s== 2", "<or> 1 <or>", "= x", ">= nan", "=", "s> 1"),
)
NUMBERS = (
    *("free_ram_mb", "vcpus_total", "vcpus_used", "free_disk_mb", "disk_mb_used", "total_usable_ram_mb"),
    *("num_instances", "num_io_ops", "failed_builds", "hypervisor_version", "cpu_info:topology:cores"),
)
TEXTS = (
    *("hypervisor_type", "cpu_info:model", "cpu_info:features", "rack", "stats:rack", "hypervisor_hostname", "host"),
    *("cpu_info", "cpu_info:nothing", "nothing", "nothing:below", "free_ram_mb:below", "supported_instances"),
    "cpu_info:topology:threads",
)
_numbers = st.sampled_from((*(f"capabilities:{name}" for name in NUMBERS), "free_ram_mb", "num_io_ops"))
_texts = st.sampled_from((*(f"capabilities:{name}" for name in TEXTS), "hypervisor_type", "rack"))
_aggregate_keys = st.sampled_from(
    ("ssd", "aggregate_instance_extra_specs:ssd", "aggregate_instance_extra_specs:a:b", "rack")
)
_other_keys = st.sampled_from(("hw:cpu_policy", "quota:cpu_shares"))
specs = st.one_of(
    st.dictionaries(_numbers, st.sampled_from(NUMBER_CONDITIONS), min_size=1, max_size=2),
    st.dictionaries(_texts, st.sampled_from(TEXT_CONDITIONS), min_size=1, max_size=2),
    st.dictionaries(_aggregate_keys, st.sampled_from(TEXT_CONDITIONS), min_size=1, max_size=1),
    st.dictionaries(_aggregate_keys | _texts | _other_keys, st.sampled_from(TEXT_CONDITIONS), max_size=3),
    st.fixed_dictionaries({"hw:maxphysaddr_bits": st.sampled_from(("40", "42", "46", "x"))}),
)

_versions = st.sampled_from((">=6.0", ">=6.0,<8", "==8.2.0", "!=8.2", "<1", " >= 10.0.1 "))
_bits = st.sampled_from((40, 42, 46, 52))
_other_properties = {
    "os_type": st.sampled_from(("linux", "windows")),
    "hw_disk_bus": st.sampled_from(("virtio", "scsi")),
    "os_require_quiesce": st.booleans(),
}
_checked_properties = {"img_hv_requested_version": _versions, "hw_maxphysaddr_bits": _bits}
properties = st.one_of(
    st.fixed_dictionaries({"hw_architecture": st.sampled_from(("x86_64", "amd64"))}, optional=_checked_properties),
    st.fixed_dictionaries({"hw_vm_mode": st.sampled_from(("hv", "pv", "xen", "hvm", "exe"))}),
    st.fixed_dictionaries(
        {"img_hv_type": st.sampled_from(("kvm", "qemu", "xapi", "lxc"))}, optional=_checked_properties
    ),
    st.fixed_dictionaries({}, optional=_other_properties),
    st.fixed_dictionaries(
        {},
        optional={
            "hw_architecture": st.sampled_from(("x86_64", "aarch64", "i686", "amd64", "i386")),
            "img_hv_type": st.sampled_from(("kvm", "qemu", "xen", "xapi", "lxc")),
            "hw_vm_mode": st.sampled_from(("hvm", "xen", "hv", "pv", "exe")),
            **_checked_properties,
            **_other_properties,
        },
    ),
)

facts = st.fixed_dictionaries(
    {
        "hypervisor_type": st.sampled_from(("QEMU", "Xen", "a")),
        "hypervisor_version": st.sampled_from((0, 6_000_000, 8_002_000, 10_000_001)),
        "supported_instances": st.lists(
            st.sampled_from(
                (
                    *(["x86_64", "kvm", "hvm"], ["i686", "qemu", "hvm"], ["aarch64", "kvm", "hvm"]),
                    *(["x86_64", "xen", "xen"], ["x86_64", "lxc", "exe"]),
                )
            ),
            max_size=3,
        ),
        "cpu_info": st.fixed_dictionaries(
            {"model": st.sampled_from(("a", "Nehalem")), "features": st.sampled_from(([], ["a", "b"], ["abc"]))},
            optional={
                "topology": st.just({"cores": 2, "threads": "2"}),
                "maxphysaddr": st.sampled_from(({"bits": 40}, {"bits": 42}, {"bits": 46}, {"mode": "emulate"})),
            },
        ),
    },
    optional={"rack": st.sampled_from(("1", "2", "a", "b"))},
)
COUNTS = st.sampled_from((0, 1, 4, 5, 7, 8, 9, 20, 39, 40, 49, 50, 51, 60))


@st.composite
def clouds(draw: st.DrawFn) -> Cloud:
    """Return a few hosts, several of them in more than one aggregate."""
    names = draw(st.lists(st.sampled_from(HOSTS), unique=True, min_size=1, max_size=len(HOSTS)))
    host_of_instance = {uuid: draw(st.sampled_from((*names, None))) for uuid in UUIDS}
    hosts: list[Host] = []
    for number, name in enumerate(names):
        total = {"VCPU": draw(st.integers(1, 8)), "MEMORY_MB": draw(st.integers(1, 4)) * 1024, "DISK_GB": 20}
        hosts.append(
            {
                "name": name,
                "up": draw(st.sampled_from((True, True, False))),
                "enabled": draw(st.sampled_from((True, True, False))),
                "total": total,
                "used": {key: draw(st.integers(0, 2)) * (amount // 2) for key, amount in total.items()},
                "metrics": draw(
                    st.fixed_dictionaries({"instances": COUNTS, "io_ops": COUNTS, "failed_builds": COUNTS})
                    | st.dictionaries(st.sampled_from(("instances", "io_ops", "heat", "failed_builds")), COUNTS)
                ),
                "facts": draw(facts),
                "host_ip": draw(st.sampled_from(NETWORKS)) + str(10 + number),
                "instances": sorted(uuid for uuid, home in host_of_instance.items() if home == name),
            }
        )
    texts_by_key = {key: st.sampled_from(texts) for key, texts in AGGREGATE_TEXTS.items()}
    metadata = st.fixed_dictionaries({}, optional=texts_by_key)
    members = st.lists(st.sampled_from(names), unique=True, max_size=len(names))
    aggregates: list[Aggregate] = [
        {"name": f"a{number}", "hosts": draw(members), "metadata": draw(metadata)}
        for number in range(draw(st.integers(0, 4)))
    ]
    return {"hosts": hosts, "aggregates": aggregates}


def _group() -> st.SearchStrategy[dict[str, Any] | None]:
    kinds = st.fixed_dictionaries(
        {
            "policy": st.sampled_from(("affinity", "anti-affinity")),
            "members": st.lists(st.sampled_from(UUIDS), unique=True, max_size=5),
            "most": st.integers(1, 3),
        }
    )
    return st.none() | kinds


requests = st.fixed_dictionaries(
    {
        "extra_specs": specs,
        "image": st.fixed_dictionaries(
            {
                "id": st.sampled_from((None, *UUIDS[:3])),
                "properties": properties,
            }
        ),
        "flavor": st.sampled_from(("m1", "m2", "a")),
        "project": st.sampled_from(("p1", "p2", "a", "b", "")),
        "hints": st.fixed_dictionaries(
            {},
            optional={
                "same_host": st.lists(st.sampled_from(UUIDS), min_size=1, max_size=3, unique=True),
                "different_host": st.lists(st.sampled_from(UUIDS), min_size=1, max_size=3, unique=True),
                "build_near_host_ip": st.sampled_from(("10.0.0.77", "10.0.1.1", "192.168.0.1")),
                "cidr": st.sampled_from(("/24", "/23", "/8", "/32", "/0")),
            },
        ),
        "group": _group(),
    }
)


def query_request(query: Sequence[Any]) -> Request:
    """Return a request with only this query."""
    image: Image = {"id": None, "properties": {}}
    hints = {"query": json.dumps(query)}
    return {"extra_specs": {}, "image": image, "flavor": "m1", "project": "p1", "hints": hints, "group": None}


def instance_hosts(cloud: Cloud) -> dict[str, str]:
    """Return the host of each instance."""
    return {uuid: host["name"] for host in cloud["hosts"] for uuid in host["instances"]}


def members(cloud: Cloud, group: Group) -> dict[str, int]:
    """Return the number of a group's instances by host, for hosts with at least one."""
    counts = {host["name"]: len(set(group["members"]) & set(host["instances"])) for host in cloud["hosts"]}
    return {name: count for name, count in counts.items() if count}


def table(cloud: Cloud, reads: Reads) -> HostTable:
    """Return the host table of a cloud, with the columns of ``reads``."""
    nodes = {}
    for host in cloud["hosts"]:
        nodes[host["name"]] = {
            **node(host["total"], metrics=host["metrics"]),
            "facts": host["facts"],
            "host_ip": host["host_ip"],
        }
    snapshot = Snapshot(
        epoch=EPOCH,
        position=1,
        providers={name: provider(name, document) for name, document in nodes.items()},
        used={host["name"]: host["used"] for host in cloud["hosts"]},
        services={host["name"]: {"enabled": host["enabled"]} for host in cloud["hosts"]},
        alive={host["name"]: host["up"] for host in cloud["hosts"]},
        opened=dict.fromkeys(nodes, EPOCH),
        states={"aggregate": {document["name"]: document for document in cloud["aggregates"]}},
    )
    return HostTable.from_snapshot(snapshot, reads=reads)


def request(cloud: Cloud, request_data: Request) -> SchedulingRequest:
    """Return the scheduling request, with what a worker looks up in the store."""
    group = request_data["group"]
    group_hosts: tuple[str, ...] = ()
    excluded_hosts: tuple[str, ...] = ()
    if group is not None:
        counts = members(cloud, group)
        if group["policy"] == "affinity":
            group_hosts = tuple(counts)
        else:
            excluded_hosts = tuple(name for name, count in counts.items() if count >= group["most"])
    return SchedulingRequest(
        "req-1",
        {"VCPU": 1},
        extra_specs=request_data["extra_specs"],
        image=request_data["image"],
        flavor=request_data["flavor"],
        project=request_data["project"],
        hints=request_data["hints"],
        decision=DecisionContext(
            instance_hosts=instance_hosts(cloud), group_hosts=group_hosts, excluded_hosts=excluded_hosts
        ),
    )


QUERY_NUMBERS = ("$free_ram_mb", "$vcpus_total", "$vcpus_used", "$num_instances", "$num_io_ops", "$free_disk_mb")
QUERY_FACTS = ("$hypervisor_type", "$hypervisor_version")
_numeric = st.sampled_from((*QUERY_NUMBERS, 0, 1, 2, 1024, 2.5, 6_000_000, True, None, ""))
_mixed = st.sampled_from((*QUERY_FACTS, "QEMU", "Xen", 6_000_000, "2", *QUERY_NUMBERS[:2], None))
_host_names = st.lists(st.sampled_from((*HOSTS, "nowhere")), min_size=1, max_size=3)
comparisons = st.one_of(
    st.builds(
        lambda sign, operands: [sign, *operands],
        st.sampled_from(("=", "<", ">", "<=", ">=", "in")),
        st.lists(_numeric, max_size=3),
    ),
    st.builds(lambda sign, operands: [sign, *operands], st.sampled_from(("=", "in")), st.lists(_mixed, max_size=3)),
    st.builds(
        lambda sign, name, texts: [sign, name, *texts],
        st.sampled_from(("=", "in")),
        st.sampled_from(("$host", "$nodename", "$hypervisor_hostname")),
        _host_names,
    ),
    st.builds(lambda texts: ["in", "$host_ip", *texts], st.just(["10.0.0.10", "10.0.1.11"])),
    st.just([]),
)
queries = st.recursive(
    comparisons,
    lambda inner: st.builds(
        lambda sign, operands: [sign, *operands], st.sampled_from(("and", "or", "not")), st.lists(inner, max_size=3)
    ),
    max_leaves=6,
)
