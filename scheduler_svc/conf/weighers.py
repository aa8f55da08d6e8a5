# SPDX-License-Identifier: Apache-2.0
"""Options of weighers. Names, meanings, defaults and the group are Nova's."""

import math
from collections.abc import Mapping

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.conf import metrics, nova, nova_defaults
from scheduler_svc.core import built_in

GROUP = "filter_scheduler"

WEIGHERS = built_in.names(built_in.WEIGHERS)
DEFAULT_WEIGHERS = built_in.default_names(built_in.WEIGHERS)
METRICS = "MetricsWeigher"  # its options are in [metrics]
OPTIONS: Mapping[str, str] = {entry.name: entry.option for entry in built_in.WEIGHERS if entry.name != METRICS}
# Aggregate metadata keys that override an option for the aggregate's hosts.
AGGREGATE_OPTIONS = tuple(entry.option for entry in built_in.WEIGHERS)
BALANCE = "BalanceWeigher"
PACKED_BALANCE = 4.0  # default multiplier of BalanceWeigher if servers are packed
SPREAD, PACK = "spread", "pack"

_SCALED = (
    " Weights are normalized to 0 to 1 over the hosts that passed the filters and multiplied by this. Aggregate "
    "metadata of the same name overrides it for member hosts; of several aggregates the minimum applies."
)
_FREE = (
    "Weight of free {} in a host's score: a positive number spreads instances, a negative one packs them, 0 ignores it."
)
_FREE_AMOUNT = _FREE + " For a weigher of Nova's, which is enabled by default with [nova] enabled only." + _SCALED


def _multiplier(option: str, default: float | None, text: str) -> cfg.Opt:
    return cfg.FloatOpt(option, default=default, mutable=True, help=text)


OPTS: list[cfg.Opt] = [
    cfg.ListOpt(
        "enabled_weighers",
        default=list(DEFAULT_WEIGHERS),
        mutable=True,
        help="Weighers that contribute to a host's score. Also available: RAMWeigher, CPUWeigher and DiskWeigher, "
        "which are Nova's policy if FreeShareWeigher and BalanceWeigher are left out; HypervisorVersionWeigher, "
        "NumInstancesWeigher, IoOpsWeigher, ImagePropertiesWeigher and MetricsWeigher, each of which makes agents "
        "report more. With [nova] enabled the default is all of Nova's weighers.",
    ),
    cfg.StrOpt(
        "placement",
        default=SPREAD,
        choices=[
            (SPREAD, "weighers of free capacity have their multipliers: emptier hosts first"),
            (PACK, "the sign of these multipliers is inverted: fuller hosts first, empty hosts last"),
        ],
        mutable=True,
        help="Whether servers are spread over hosts or packed onto few. The weighers of free capacity are "
        "FreeShareWeigher, RAMWeigher, CPUWeigher and DiskWeigher. A multiplier from aggregate metadata is not "
        "inverted.",
    ),
    _multiplier(
        "free_share_weight_multiplier",
        1.0,
        _FREE.format("shares of processors and memory") + " For FreeShareWeigher, which Nova does not have: equal "
        "servers are spread over equal hosts one by one, and over unlike hosts in proportion to their sizes." + _SCALED,
    ),
    _multiplier("ram_weight_multiplier", 1.0, _FREE_AMOUNT.format("memory")),
    _multiplier("cpu_weight_multiplier", 1.0, _FREE_AMOUNT.format("processors")),
    _multiplier("disk_weight_multiplier", 1.0, _FREE_AMOUNT.format("disk")),
    _multiplier(
        "balance_weight_multiplier",
        None,
        "Weight of how much a server makes the free shares of a host's processors and memory more equal, for "
        "BalanceWeigher, which Nova does not have: it avoids free memory without processors and vice versa. By default "
        f"{PACKED_BALANCE:g} if servers are packed, so that free shares decide between hosts of about the same effect, "
        "else 0, since it gathers servers of unlike flavors on few hosts." + _SCALED,
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
        "Weight of the number of instances that a host is building or moving: a negative number prefers idle hosts."
        + _SCALED,
    ),
    _multiplier(
        "image_props_weight_multiplier",
        0.0,
        "Weight of the number of instances on a host that were booted from images with the request's properties: a "
        "positive number groups such instances, a negative one separates them." + _SCALED,
    ),
    cfg.ListOpt(
        "image_props_weight_setting",
        default=[],
        sample_default=["os_distro=2", "os_type=1"],
        mutable=True,
        help="Image properties and their weights for ImagePropertiesWeigher: property=weight, separated by commas. "
        "Agents count instances only by these properties; if empty, the weigher has no effect.",
    ),
    _multiplier(
        "pci_weight_multiplier",
        1.0,
        "Weight of having few free PCI devices: a positive number reserves hosts with devices for requests that need "
        "them, and fills hosts with few devices first." + _SCALED,
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
        "Weight against builds that failed on a host since the last success. So large that other weighers only decide "
        "between hosts with equal counts." + _SCALED,
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
        "Weight of being in the same location as the storage pools of the request's volumes. Large, so that free "
        "capacity only decides between hosts that are equally near." + _SCALED,
    ),
]


def enabled(conf: cfg.ConfigOpts) -> list[str]:
    return nova_defaults.enabled_or_default(conf, "enabled_weighers", nova_defaults.WEIGHERS)


def packs(conf: cfg.ConfigOpts) -> bool:
    """Return whether servers are packed onto few hosts."""
    return bool(conf.filter_scheduler.placement == PACK)


def multipliers(conf: cfg.ConfigOpts, *, packed: bool) -> dict[str, float]:
    """Return the multiplier of each built-in weigher, for a policy that packs or spreads servers."""
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
    """Return the weight of each image property. Raises BadConfiguration unless entries are property=weight."""
    return metrics.parse_weights(
        f"[{GROUP}] image_props_weight_setting",
        "property=weight",
        conf.filter_scheduler.image_props_weight_setting,
        str.partition,
    )


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for an invalid setting, or a weigher that cannot weigh Nova's hosts."""
    image_properties(conf)
    multiplier = conf.filter_scheduler.image_props_weight_multiplier
    if conf.nova.enabled and multiplier and nova.UNCOUNTED_WEIGHER in enabled(conf):
        raise errors.BadConfiguration(
            why=f"[{GROUP}] image_props_weight_multiplier is {multiplier:g}, but {nova.UNCOUNTED_WEIGHER} cannot weigh "
            "hosts of Nova, whose images gantt does not count; set it to 0"
        )
    for name, value in multipliers(conf, packed=packs(conf)).items():
        if not math.isfinite(value):
            raise errors.BadConfiguration(
                why=f"[{GROUP}] the multiplier of {name} is {value}, which is not a finite number"
            )
