# SPDX-License-Identifier: Apache-2.0
"""How hosts that passed the filters are weighed. Names, meanings and defaults are Nova's, and so is the group."""

import math
from collections.abc import Mapping

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.metric_weights import AGGREGATE_OPTION

GROUP = "filter_scheduler"

# What there is and the option of its multiplier, told here without the modules that do it: those need NumPy.
OPTIONS: Mapping[str, str] = {
    "RAMWeigher": "ram_weight_multiplier",
    "CPUWeigher": "cpu_weight_multiplier",
    "DiskWeigher": "disk_weight_multiplier",
    "BalanceWeigher": "balance_weight_multiplier",
    "HypervisorVersionWeigher": "hypervisor_version_weight_multiplier",
    "NumInstancesWeigher": "num_instances_weight_multiplier",
    "IoOpsWeigher": "io_ops_weight_multiplier",
    "ImagePropertiesWeigher": "image_props_weight_multiplier",
    "PCIWeigher": "pci_weight_multiplier",
    "ServerGroupSoftAffinityWeigher": "soft_affinity_weight_multiplier",
    "ServerGroupSoftAntiAffinityWeigher": "soft_anti_affinity_weight_multiplier",
    "BuildFailureWeigher": "build_failure_weight_multiplier",
    "CrossCellWeigher": "cross_cell_move_weight_multiplier",
    "VolumeNearWeigher": "volume_near_weight_multiplier",
}
METRICS = "MetricsWeigher"  # its options are in [metrics]
AGGREGATE_OPTIONS = (*OPTIONS.values(), AGGREGATE_OPTION)  # metadata that overrides an option for an aggregate's hosts
WEIGHERS = (*OPTIONS, METRICS)
AMOUNTS = ("RAMWeigher", "CPUWeigher", "DiskWeigher")
DEFAULT_WEIGHERS = (
    *AMOUNTS,
    "PCIWeigher",
    "ServerGroupSoftAffinityWeigher",
    "ServerGroupSoftAntiAffinityWeigher",
    "BuildFailureWeigher",
    "CrossCellWeigher",
    "VolumeNearWeigher",
)
SPREAD, PACK = "spread", "pack"

_SCALED = (
    " Figures are scaled to 0 to 1 over the hosts that passed the filters and multiplied by this. Metadata of the same "
    "name overrides it for an aggregate's hosts, of several aggregates the least."
)
_FREE = (
    "Weight of free {} in a host's score: a positive number spreads instances, a negative one packs them, 0 leaves it "
    "out." + _SCALED
)


def _multiplier(option: str, default: float, text: str) -> cfg.Opt:
    return cfg.FloatOpt(option, default=default, mutable=True, help=text)


OPTS: list[cfg.Opt] = [
    cfg.ListOpt(
        "enabled_weighers",
        default=list(DEFAULT_WEIGHERS),
        mutable=True,
        help="Weighers whose figures make up a host's score. There is also BalanceWeigher; and "
        "HypervisorVersionWeigher, NumInstancesWeigher, IoOpsWeigher, ImagePropertiesWeigher and MetricsWeigher, each "
        "of which has agents report more. Nova enables all of its weighers.",
    ),
    cfg.StrOpt(
        "placement",
        default=SPREAD,
        choices=[
            (SPREAD, "free memory, processors and disk count as their multipliers say"),
            (PACK, "these three multipliers are turned round: fuller hosts first, and hosts stay empty longest"),
        ],
        mutable=True,
        help="Whether servers are spread over the hosts or packed onto few. Where an aggregate's metadata says "
        "otherwise of a multiplier, that stands as it is.",
    ),
    _multiplier("ram_weight_multiplier", 1.0, _FREE.format("memory")),
    _multiplier("cpu_weight_multiplier", 1.0, _FREE.format("processors")),
    _multiplier("disk_weight_multiplier", 1.0, _FREE.format("disk")),
    _multiplier(
        "balance_weight_multiplier",
        1.0,
        "Weight of leaving as large a share of a host's processors free as of its memory, for BalanceWeigher, which "
        "Nova has not: less of either is stranded beside the other." + _SCALED,
    ),
    _multiplier(
        "hypervisor_version_weight_multiplier",
        1.0,
        "Weight of the hypervisor's version: a positive number prefers newer ones." + _SCALED,
    ),
    _multiplier(
        "num_instances_weight_multiplier",
        0.0,
        "Weight of the number of instances on a host: a negative number spreads, a positive one packs." + _SCALED,
    ),
    _multiplier(
        "io_ops_weight_multiplier",
        -1.0,
        "Weight of the number of instances that a host builds or moves now: a negative number prefers idle hosts."
        + _SCALED,
    ),
    _multiplier(
        "image_props_weight_multiplier",
        0.0,
        "Weight of how many instances on a host were booted from images with the request's properties: a positive "
        "number puts like to like, a negative one keeps them apart." + _SCALED,
    ),
    cfg.ListOpt(
        "image_props_weight_setting",
        default=[],
        sample_default=["os_distro=2", "os_type=1"],
        mutable=True,
        help="Which image properties ImagePropertiesWeigher looks at, and how much each counts: property=weight, "
        "separated by commas. Agents count instances by the properties named here, and no others; none: the weigher "
        "adds nothing.",
    ),
    _multiplier(
        "pci_weight_multiplier",
        1.0,
        "Weight of having few free PCI devices: a positive number keeps hosts with devices for those who need them, "
        "and fills up the ones with few first." + _SCALED,
    ),
    _multiplier(
        "soft_affinity_weight_multiplier",
        1.0,
        "Weight of members of the request's server group on a host, where its policy is soft-affinity." + _SCALED,
    ),
    _multiplier(
        "soft_anti_affinity_weight_multiplier",
        1.0,
        "Weight of the absence of members of the request's server group, where its policy is soft-anti-affinity."
        + _SCALED,
    ),
    _multiplier(
        "build_failure_weight_multiplier",
        1_000_000.0,
        "Weight against builds that failed on a host since one last succeeded. So large that whatever else is weighed "
        "decides only between hosts with equally many." + _SCALED,
    ),
    _multiplier(
        "cross_cell_move_weight_multiplier",
        1_000_000.0,
        "Weight of the partition that an instance moves from, against all others: negative prefers the others."
        + _SCALED,
    ),
    _multiplier(
        "volume_near_weight_multiplier",
        10.0,
        "Weight of being in the same location as the storage pools of the request's volumes. Large, so that room "
        "decides only between hosts that are equally near." + _SCALED,
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of group [filter_scheduler] that weighers have."""
    conf.register_opts(OPTS, group=GROUP)


def multipliers(conf: cfg.ConfigOpts) -> dict[str, float]:
    """Return what is configured for each weigher that is built in, by its name."""
    group = conf.filter_scheduler
    multipliers_by_name = {name: float(group[option]) for name, option in OPTIONS.items()}
    multipliers_by_name[METRICS] = float(conf.metrics.weight_multiplier)
    if group.placement == PACK:
        multipliers_by_name |= {name: -multipliers_by_name[name] for name in AMOUNTS}
    return multipliers_by_name


def image_properties(conf: cfg.ConfigOpts) -> dict[str, float]:
    """Return how much each image property counts; raises BadConfiguration for what is no property=weight."""
    weights: dict[str, float] = {}
    for pair in conf.filter_scheduler.image_props_weight_setting:
        name, equals, text = (part.strip() for part in pair.partition("="))
        try:
            weight = float(text)
        except ValueError:
            weight = math.nan
        if not equals or not name or name in weights or not math.isfinite(weight):
            raise errors.BadConfiguration(
                why=f"[{GROUP}] image_props_weight_setting: {pair!r} is no property=weight, or names a property for "
                "the second time"
            )
        weights[name] = weight
    return weights


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for a setting that cannot be used."""
    image_properties(conf)
    for name, value in multipliers(conf).items():
        if not math.isfinite(value):
            raise errors.BadConfiguration(why=f"[{GROUP}] the multiplier of {name} is {value}, no finite number")
