# SPDX-License-Identifier: Apache-2.0
"""Node shapes: one group [shape:NAME] per shape, with names set by the operator."""

from oslo_config import cfg, types

PREFIX = "shape:"

OPTS = [
    cfg.IntOpt("vcpus", default=32, min=0, help="Virtual CPUs of a node of this shape, before overcommit."),
    cfg.IntOpt("memory_mb", default=131072, min=0, help="Memory of a node of this shape, in MiB."),
    cfg.IntOpt("disk_gb", default=2000, min=0, help="Local disk of a node of this shape, in GiB."),
    cfg.FloatOpt(
        "cpu_allocation_ratio", default=4.0, min=0.0, help="Virtual CPUs that may be allocated per existing CPU."
    ),
    cfg.FloatOpt("ram_allocation_ratio", default=1.0, min=0.0, help="Memory that may be allocated per existing MiB."),
    cfg.FloatOpt("disk_allocation_ratio", default=1.0, min=0.0, help="Disk that may be allocated per existing GiB."),
    cfg.IntOpt("reserved_vcpus", default=0, min=0, help="Virtual CPUs reserved for the host itself."),
    cfg.IntOpt("reserved_memory_mb", default=512, min=0, help="Memory reserved for the host itself, in MiB."),
    cfg.IntOpt("reserved_disk_gb", default=0, min=0, help="Disk reserved for the host itself, in GiB."),
    cfg.Opt(
        "resources",
        type=types.Dict(value_type=types.Integer(min=0)),
        default={},
        help="Further resource classes and their totals, such as 'VGPU:4,CUSTOM_FPGA:2'.",
    ),
    cfg.StrOpt(
        "kind",
        default="compute",
        choices=["compute", "volume", "network"],
        help="Service of a node of this shape: compute is a host of servers, volume a storage pool, network a network "
        "of ports. Each request is for one of them.",
    ),
    cfg.IntOpt(
        "numa_cells",
        default=0,
        min=0,
        max=64,
        help="NUMA cells of a node, with an even share of its CPUs and memory each; every cell is a provider below "
        "the node. 0: CPUs and memory belong to the node itself, and guests cannot be pinned.",
    ),
    cfg.IntOpt("numa_cells_per_socket", default=1, min=1, max=64, help="NUMA cells of one processor socket."),
    cfg.IntOpt(
        "threads_per_core",
        default=1,
        min=1,
        max=8,
        help="Threads per CPU core, on nodes with NUMA cells. With n cores, CPU i is a thread of core i modulo n.",
    ),
    cfg.StrOpt(
        "cpu_dedicated_set",
        default="",
        help="Dedicated CPUs of a node with NUMA cells, such as '4-15,20-31,^8', allocated as PCPU without "
        "overcommit; the others are shared.",
    ),
    cfg.Opt(
        "huge_pages",
        type=types.Dict(key_value_separator=":", value_type=types.Integer(min=1)),
        default={},
        help="Huge pages of each NUMA cell by size in kB, such as '2048:4096,1048576:16': a part of memory_mb, "
        "allocated separately.",
    ),
    cfg.ListOpt(
        "pci_devices",
        default=[],
        help="PCI devices of a node as NAME:COUNT or NAME:COUNT@CELL, such as 'nic:2@0,gpu:1'. Group "
        "[pci_device:NAME] describes the device, CELL is its NUMA cell.",
    ),
    cfg.ListOpt(
        "devices",
        default=[],
        help="Other devices of a node as NAME:COUNT or NAME:COUNT@CELL. Group [device:NAME] describes the device.",
    ),
    cfg.StrOpt("hypervisor_type", default="", help="Hypervisor type that a node reports, such as QEMU; empty: none."),
    cfg.IntOpt(
        "hypervisor_version",
        default=0,
        min=0,
        help="Hypervisor version in Nova's form: 8.2.1 is 8002001. 0: not reported.",
    ),
    cfg.ListOpt(
        "supported_instances",
        default=[],
        help="Guest types of a node as ARCHITECTURE:HYPERVISOR:MODE, such as 'x86_64:kvm:hvm'. Empty: not reported.",
    ),
    cfg.Opt(
        "cpu_info",
        type=types.Dict(key_value_separator=":"),
        default={},
        help="CPU description of a node, such as 'arch:x86_64,vendor:Intel,model:Skylake-Server'. Empty: none.",
    ),
    cfg.ListOpt(
        "counted_image_properties",
        default=[],
        help="Image properties, such as os_distro. A node counts its guests by their values, for the scheduler's "
        "ImagePropertiesWeigher: list the properties of image_props_weight_setting.",
    ),
    cfg.ListOpt("traits", default=[], help="Traits of a node of this shape, such as HW_CPU_X86_AVX2."),
    cfg.StrOpt("availability_zone", help="Availability zone of nodes of this shape. Unset: their host's zone."),
    cfg.IntOpt(
        "share", default=1, min=1, max=1000, help="Number of nodes with this shape per node with a shape of share 1."
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> list[str]:
    """Register the options of each group [shape:NAME] in the files; return the groups, sorted."""
    groups = [section for section in conf.list_all_sections() if section.startswith(PREFIX)]
    for group in groups:
        conf.register_opts(OPTS, group=group)
    return groups
