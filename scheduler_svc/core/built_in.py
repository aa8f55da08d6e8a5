# SPDX-License-Identifier: Apache-2.0
"""The built-in filters and weighers, each listed once, in the order in which they are applied.

The configuration derives its names and defaults from these lists. They name modules without importing them, since the
master process of the daemon reads the configuration and must not import NumPy.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple


class BuiltInFailed(Exception):
    """Raised from the error of a built-in filter or weigher, or of the search of provider trees.

    ``repeat(view)`` does on another view what failed.
    """

    def __init__(self, kind: str, name: str, repeat: Callable[[Any], object]) -> None:
        super().__init__(f"{kind} {name}")
        self.kind = kind
        self.name = name
        self.repeat = repeat


class BuiltIn(NamedTuple):
    """A filter or weigher of gantt's own by its name in the configuration.

    ``source`` is "module:attribute" in scheduler_svc.core: a Filter or Weigher, or a function that takes FilterOptions
    or WeigherOptions and returns one. ``default`` is whether it is enabled by default. ``option`` is the name of a
    weigher's multiplier option, and of the aggregate metadata that overrides it.
    """

    name: str
    source: str
    default: bool = False
    option: str = ""

    def load(self) -> Any:
        """Import the module and return the attribute."""
        module, _, attribute = self.source.partition(":")
        return getattr(import_module(f"scheduler_svc.core.{module}"), attribute)


# Cheap filters first. Enabled by default are gantt's own filters that every request may rely on, those that Nova
# enables by default, and those without cost for requests that do not use them.
FILTERS = (
    # No arithmetic: it rejects no host.
    BuiltIn("AllHostsFilter", "filters.host_names:ALL"),
    # Two existing columns. First, so that later reasons do not count hosts that are down.
    BuiltIn("ComputeFilter", "filters.compute:SERVICE", default=True),
    # One lookup per name. First of the request's conditions, since it may leave only a few hosts.
    BuiltIn("ForceHostsFilter", "filters.host_names:FORCED", default=True),
    # The same lookup, for names that are usually few.
    BuiltIn("IgnoreHostsFilter", "filters.host_names:IGNORED", default=True),
    # The same lookup, for the hosts of the hinted instances, as the store reported them.
    BuiltIn("SameHostFilter", "filters.host_names:SAME", default=True),
    # As above.
    BuiltIn("DifferentHostFilter", "filters.host_names:DIFFERENT", default=True),
    # The same lookup; after the caller's conditions, so that its reason counts only hosts that the group excludes.
    BuiltIn("ServerGroupAntiAffinityFilter", "filters.host_names:ANTI_AFFINITY", default=True),
    # As above.
    BuiltIn("ServerGroupAffinityFilter", "filters.host_names:AFFINITY", default=True),
    # The same lookup, for configured names.
    BuiltIn("IsolatedHostsFilter", "filters.isolated_hosts:build"),
    # One comparison of an integer column.
    BuiltIn("AvailabilityZoneFilter", "filters.availability_zone:FILTER", default=True),
    # A lookup of the host names of a pool.
    BuiltIn("VolumePoolFilter", "filters.volume_pool:FILTER", default=True),
    # A bit test per network.
    BuiltIn("NetworkSegmentFilter", "filters.network_segment:FILTER", default=True),
    # Three comparisons of integer columns.
    BuiltIn("SimpleCIDRAffinityFilter", "filters.near_address:FILTER"),
    # A cached column, recomputed when aggregates change.
    BuiltIn("AggregateMultiTenancyIsolation", "filters.aggregates:PROJECTS"),
    # As above.
    BuiltIn("AggregateTypeAffinityFilter", "filters.aggregates:FLAVOR"),
    # A cached column per extra spec.
    BuiltIn("AggregateInstanceExtraSpecsFilter", "filters.aggregates:EXTRA_SPECS"),
    # A cached column per set of image properties.
    BuiltIn("AggregateImagePropertiesIsolation", "filters.aggregates:build_image_properties"),
    # A cached result per distinct facts document, and a lookup per row.
    BuiltIn("ImagePropertiesFilter", "filters.image_properties:build", default=True),
    # The same, per extra spec.
    BuiltIn("ComputeCapabilitiesFilter", "filters.compute_capabilities:FILTER", default=True),
    # A bit test per 64-bit word of aggregates.
    BuiltIn("MembershipFilter", "filters.membership:FILTER", default=True),
    # A bit test per 64 different traits in the cluster.
    BuiltIn("TraitsFilter", "filters.traits:FILTER", default=True),
    # One test per metric. After the request's conditions: hosts usually report all metrics.
    BuiltIn("MetricsFilter", "filters.metrics:build"),
    # One float comparison.
    BuiltIn("NumInstancesFilter", "filters.counts:build_instances"),
    # The same, with a cached column of limits.
    BuiltIn("AggregateNumInstancesFilter", "filters.counts:build_instances_by_aggregate"),
    # One float comparison.
    BuiltIn("IoOpsFilter", "filters.counts:build_io_ops"),
    # The same, with a cached column of limits.
    BuiltIn("AggregateIoOpsFilter", "filters.counts:build_io_ops_by_aggregate"),
    # One comparison per query term: up to a hundred.
    BuiltIn("JsonFilter", "filters.json_query:FILTER"),
    # One mask. First of the preconditions of the tree search, since few hosts report NUMA cells.
    BuiltIn("NUMATopologyFilter", "filters.numa_topology:FILTER", default=True),
    # A sum over trees per device class; few hosts have devices.
    BuiltIn("PciPassthroughFilter", "filters.pci_passthrough:FILTER", default=True),
    # A float comparison per class, and arithmetic for unit rules: the most expensive. Late also because its reasons
    # should count only hosts that meet all other conditions.
    BuiltIn("ResourcesFilter", "filters.resources:FILTER", default=True),
    # The same for each distinct request group, with sums over trees.
    BuiltIn("RequestGroupsFilter", "filters.request_groups:FILTER", default=True),
    # As cheap as the first, but callers wait for the hosts that it rejects: these must meet all other conditions.
    BuiltIn("ComputeFilter", "filters.compute:AUDITED", default=True),
)
# All weighers see the same hosts, so their order affects no cost; but the sum of floats depends on it, and with it the
# replay of recorded decisions: the weighers of a policy keep their order.
WEIGHERS = (
    # Arithmetic on four stored columns.
    BuiltIn("FreeShareWeigher", "weighers.free_share:WEIGHER", default=True, option="free_share_weight_multiplier"),
    # One stored column each.
    BuiltIn("RAMWeigher", "weighers.free_amounts:RAM", option="ram_weight_multiplier"),
    BuiltIn("CPUWeigher", "weighers.free_amounts:CPU", option="cpu_weight_multiplier"),
    BuiltIn("DiskWeigher", "weighers.free_amounts:DISK", option="disk_weight_multiplier"),
    # Arithmetic on four stored columns; nothing while servers are spread.
    BuiltIn("BalanceWeigher", "weighers.balance:WEIGHER", default=True, option="balance_weight_multiplier"),
    # A cached number per distinct facts document, and a lookup per row.
    BuiltIn(
        "HypervisorVersionWeigher",
        "weighers.hypervisor_version:WEIGHER",
        option="hypervisor_version_weight_multiplier",
    ),
    # One metric column each.
    BuiltIn("NumInstancesWeigher", "weighers.reported:INSTANCES_WEIGHER", option="num_instances_weight_multiplier"),
    BuiltIn("IoOpsWeigher", "weighers.reported:IO_OPS_WEIGHER", option="io_ops_weight_multiplier"),
    # A sum over the device classes; nothing in a cluster without devices.
    BuiltIn("PCIWeigher", "weighers.pci:build", default=True, option="pci_weight_multiplier"),
    # One lookup per host of the group; nothing for requests without the policy.
    BuiltIn(
        "ServerGroupSoftAffinityWeigher",
        "weighers.server_group:SOFT_AFFINITY",
        default=True,
        option="soft_affinity_weight_multiplier",
    ),
    BuiltIn(
        "ServerGroupSoftAntiAffinityWeigher",
        "weighers.server_group:SOFT_ANTI_AFFINITY",
        default=True,
        option="soft_anti_affinity_weight_multiplier",
    ),
    # One metric column.
    BuiltIn(
        "BuildFailureWeigher",
        "weighers.reported:BUILD_FAILURE_WEIGHER",
        default=True,
        option="build_failure_weight_multiplier",
    ),
    # One comparison of an integer column; nothing unless an instance moves.
    BuiltIn(
        "CrossCellWeigher", "weighers.cross_cell:WEIGHER", default=True, option="cross_cell_move_weight_multiplier"
    ),
    # A cached result per distinct facts document and location; nothing for requests without volumes.
    BuiltIn("VolumeNearWeigher", "weighers.volume_near:WEIGHER", default=True, option="volume_near_weight_multiplier"),
    # One metric column per weighed property.
    BuiltIn("ImagePropertiesWeigher", "weighers.image_properties:build", option="image_props_weight_multiplier"),
    # One metric column per weighed metric. Its multiplier option is in group [metrics], by another name.
    BuiltIn("MetricsWeigher", "weighers.metrics:build", option="metrics_weight_multiplier"),
)


# The weighers of free capacity: the sign of their multipliers spreads or packs.
CAPACITY_WEIGHERS = ("FreeShareWeigher", "RAMWeigher", "CPUWeigher", "DiskWeigher")


def names(entries: Iterable[BuiltIn]) -> tuple[str, ...]:
    """Return the names in their order; a filter may consist of several entries."""
    return tuple(dict.fromkeys(entry.name for entry in entries))


def default_names(entries: Iterable[BuiltIn]) -> tuple[str, ...]:
    """Return the names that are enabled by default, in their order."""
    return names(entry for entry in entries if entry.default)
