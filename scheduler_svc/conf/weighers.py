# SPDX-License-Identifier: Apache-2.0
"""Options of weighers and of the choice among the best hosts.

Names, meanings, defaults and the group are Nova's.
"""

import math
from collections.abc import Mapping

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.conf import enabled, metrics, nova, scheduler
from scheduler_svc.core import built_in

GROUP = "filter_scheduler"

METRICS = "MetricsWeigher"  # has its options in [metrics]
OPTIONS: Mapping[str, str] = {entry.name: entry.option for entry in built_in.WEIGHERS if entry.name != METRICS}
# Aggregate metadata keys that override an option for the aggregate's hosts.
AGGREGATE_OPTIONS = tuple(entry.option for entry in built_in.WEIGHERS)
BALANCE = "BalanceWeigher"
PACKED_BALANCE = 4.0  # default multiplier of BalanceWeigher with placement = pack
SPREAD, PACK = "spread", "pack"

_SCALED = (
    " Weights are normalized to 0 to 1 over the hosts that passed the filters and multiplied by this. Aggregate "
    "metadata of the same name overrides it for member hosts; the minimum of several aggregates applies."
)
_FREE = "Weight of free {} in a host's score: positive spreads instances, negative packs them, 0 ignores it."
_FREE_AMOUNT = _FREE + " For a Nova weigher, enabled by default only with [nova] enabled."


def _multiplier(option: str, default: float | None, text: str) -> cfg.Opt:
    return cfg.FloatOpt(option, default=default, mutable=True, help=text + _SCALED)


OPTS: list[cfg.Opt] = [
    cfg.IntOpt(
        "host_subset_size",
        default=1,
        min=1,
        max=1000,
        mutable=True,
        help="Best hosts from which an instance's host is drawn at random. More than 1 reduces collisions of workers.",
    ),
    cfg.ListOpt(
        "enabled_weighers",
        default=list(built_in.DEFAULT_WEIGHERS),
        mutable=True,
        help="Weighers that contribute to a host's score. Also available: RAMWeigher, CPUWeigher and DiskWeigher, "
        "which are Nova's policy if FreeShareWeigher and BalanceWeigher are left out; HypervisorVersionWeigher, "
        "NumInstancesWeigher, IoOpsWeigher, ImagePropertiesWeigher and MetricsWeigher, for which agents report more. "
        "Default with [nova] enabled: all of Nova's weighers.",
    ),
    cfg.StrOpt(
        "placement",
        default=SPREAD,
        choices=[
            (SPREAD, "emptier hosts first: the multipliers apply as they are"),
            (PACK, "fuller hosts first, empty hosts last: the multipliers' signs are inverted"),
        ],
        mutable=True,
        help="Whether to spread servers over hosts or pack them onto few, by the multipliers of FreeShareWeigher, "
        "RAMWeigher, CPUWeigher and DiskWeigher. Multipliers from aggregate metadata are not inverted.",
    ),
    _multiplier(
        "free_share_weight_multiplier",
        1.0,
        _FREE.format("shares of processors and memory")
        + " For FreeShareWeigher, which Nova lacks: equal servers are spread evenly over equal hosts, and over unlike "
        "hosts in proportion to their sizes. Unequal shares count against a host, the more the fuller it is.",
    ),
    _multiplier("ram_weight_multiplier", 1.0, _FREE_AMOUNT.format("memory")),
    _multiplier("cpu_weight_multiplier", 1.0, _FREE_AMOUNT.format("processors")),
    _multiplier("disk_weight_multiplier", 1.0, _FREE_AMOUNT.format("disk")),
    _multiplier(
        "balance_weight_multiplier",
        None,
        "Weight of how much a server evens out the free shares of a host's processors and memory, for BalanceWeigher, "
        "which Nova lacks: it avoids free memory without processors and vice versa. Default: "
        f"{PACKED_BALANCE:g} if servers are packed, so that free shares decide between hosts of similar balance; "
        "otherwise 0, because it gathers unlike flavors on few hosts.",
    ),
    _multiplier(
        "hypervisor_version_weight_multiplier", 1.0, "Weight of the hypervisor's version: positive prefers newer ones."
    ),
    _multiplier(
        "num_instances_weight_multiplier",
        0.0,
        "Weight of the number of instances on a host: negative spreads, positive packs.",
    ),
    _multiplier(
        "io_ops_weight_multiplier",
        -1.0,
        "Weight of the number of instances that a host is building or moving: negative prefers idle hosts.",
    ),
    _multiplier(
        "image_props_weight_multiplier",
        0.0,
        "Weight of the number of instances on a host whose images have the request's properties: positive groups such "
        "instances, negative separates them.",
    ),
    cfg.ListOpt(
        "image_props_weight_setting",
        default=[],
        sample_default=["os_distro=2", "os_type=1"],
        mutable=True,
        help="Image properties and their weights for ImagePropertiesWeigher: property=weight, separated by commas. "
        "Agents count instances by these properties only. Empty: no effect.",
    ),
    _multiplier(
        "pci_weight_multiplier",
        1.0,
        "Weight of having few free PCI devices: positive reserves hosts with devices for requests that need them, and "
        "fills hosts with few devices first.",
    ),
    _multiplier(
        "special_hardware_weight_multiplier",
        1.0,
        "Weight of the absence of special hardware that the request does not ask for, for SpecialHardwareWeigher, "
        "which Nova lacks: resource classes, and traits other than COMPUTE_* and HW_CPU_*, that at most a third of the "
        "hosts have.",
    ),
    _multiplier(
        "soft_affinity_weight_multiplier",
        1.0,
        "Weight of members of the request's server group on a host, for policy soft-affinity.",
    ),
    _multiplier(
        "soft_anti_affinity_weight_multiplier",
        1.0,
        "Weight of the absence of members of the request's server group, for policy soft-anti-affinity.",
    ),
    _multiplier(
        "build_failure_weight_multiplier",
        1_000_000.0,
        "Weight against builds that failed on a host since its last success. Large, so that other weighers decide "
        "only between hosts with equal counts.",
    ),
    _multiplier(
        "cross_cell_move_weight_multiplier",
        1_000_000.0,
        "Weight of the partition that an instance moves from: negative prefers other partitions.",
    ),
    _multiplier(
        "volume_near_weight_multiplier",
        10.0,
        "Weight of being in the same location as the storage pools of the request's volumes. Large, so that free "
        "capacity decides only between equally near hosts.",
    ),
]


def packs(conf: cfg.ConfigOpts) -> bool:
    """Return whether the configured placement packs servers onto few hosts."""
    return bool(conf.filter_scheduler.placement == PACK)


def multipliers(conf: cfg.ConfigOpts, *, packed: bool) -> dict[str, float]:
    """Return {built-in weigher: multiplier} for a policy that packs or spreads servers."""
    group = conf.filter_scheduler
    configured = {name: group[option] for name, option in OPTIONS.items()}
    if configured[BALANCE] is None:
        configured[BALANCE] = PACKED_BALANCE if packed else 0.0
    multipliers_by_name = {name: float(number) for name, number in configured.items()}
    multipliers_by_name[METRICS] = float(conf.metrics.weight_multiplier)
    if packed:
        multipliers_by_name |= {name: -multipliers_by_name[name] for name in built_in.CAPACITY_WEIGHERS}
    return multipliers_by_name


def image_properties(conf: cfg.ConfigOpts) -> dict[str, float]:
    """Return {image property: weight}. Raises BadConfiguration for an entry that is not property=weight."""
    return metrics.parse_weights(
        f"[{GROUP}] image_props_weight_setting",
        "property=weight",
        conf.filter_scheduler.image_props_weight_setting,
        str.partition,
    )


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for an invalid setting, or a weigher without data about Nova's hosts."""
    if {"filter", "solver"} & set(scheduler.drivers(conf)):  # other drivers may have their own weighers
        enabled.check_weighers(conf)
    image_properties(conf)
    multiplier = conf.filter_scheduler.image_props_weight_multiplier
    if conf.nova.enabled and multiplier and nova.UNCOUNTED_WEIGHER in enabled.weighers(conf):
        raise errors.BadConfiguration(
            why=f"[{GROUP}] image_props_weight_multiplier is {multiplier:g}, but {nova.UNCOUNTED_WEIGHER} cannot "
            "weigh Nova's hosts, whose images gantt does not count; set it to 0"
        )
    for name, value in multipliers(conf, packed=packs(conf)).items():
        if not math.isfinite(value):
            raise errors.BadConfiguration(
                why=f"[{GROUP}] the multiplier of {name} is {value}, which is not a finite number"
            )
