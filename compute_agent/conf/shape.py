# SPDX-License-Identifier: Apache-2.0
"""One shape of node a group [shape:NAME]; the names are the operator's."""

from oslo_config import cfg, types

PREFIX = "shape:"

OPTS = [
    cfg.IntOpt("vcpus", default=32, min=0, help="Virtual CPUs of a node of this shape, before overcommit."),
    cfg.IntOpt("memory_mb", default=131072, min=0, help="Memory of a node of this shape, in MiB."),
    cfg.IntOpt("disk_gb", default=2000, min=0, help="Local disk of a node of this shape, in GiB."),
    cfg.FloatOpt("cpu_allocation_ratio", default=4.0, min=0.0, help="Virtual CPUs sold for each that is there."),
    cfg.FloatOpt("ram_allocation_ratio", default=1.0, min=0.0, help="Memory sold for each MiB that is there."),
    cfg.FloatOpt("disk_allocation_ratio", default=1.0, min=0.0, help="Disk sold for each GiB that is there."),
    cfg.IntOpt("reserved_vcpus", default=0, min=0, help="Virtual CPUs kept for the host itself."),
    cfg.IntOpt("reserved_memory_mb", default=512, min=0, help="Memory kept for the host itself, in MiB."),
    cfg.IntOpt("reserved_disk_gb", default=0, min=0, help="Disk kept for the host itself, in GiB."),
    cfg.Opt(
        "resources",
        type=types.Dict(value_type=types.Integer(min=0)),
        default={},
        help="Further resource classes and how much there is of each, such as 'VGPU:4,CUSTOM_FPGA:2'.",
    ),
    cfg.ListOpt("traits", default=[], help="Traits of a node of this shape, such as HW_CPU_X86_AVX2."),
    cfg.StrOpt("availability_zone", help="Availability zone of the nodes of this shape; unset: that of their host."),
    cfg.IntOpt(
        "share", default=1, min=1, max=1000, help="How many nodes get this shape for each one of a shape of share 1."
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> list[str]:
    """Register a group for each [shape:NAME] in the files read, and return the groups, sorted."""
    groups = [section for section in conf.list_all_sections() if section.startswith(PREFIX)]
    for group in groups:
        conf.register_opts(OPTS, group=group)
    return groups
