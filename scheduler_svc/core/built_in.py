# SPDX-License-Identifier: Apache-2.0
"""Built-in filters and weighers, listed once and in order of application.

The configuration derives names and defaults from these lists. They name modules without importing them: the daemon's
master process reads the configuration, but must not import NumPy.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple


class BuiltInFailed(Exception):
    """Raised when a built-in filter or weigher, or the search of provider trees, fails.

    ``repeat(view)`` repeats the failed step on another view.
    """

    def __init__(self, kind: str, name: str, repeat: Callable[[Any], object]) -> None:
        super().__init__(f"{kind} {name}")
        self.kind = kind
        self.name = name
        self.repeat = repeat


class BuiltIn(NamedTuple):
    """A built-in filter or weigher by its configured name.

    Attributes:
        source: "module:attribute" in scheduler_svc.core: a Filter or Weigher, or a function from FilterOptions or
            WeigherOptions to one.
        default: Whether it is enabled by default.
        option: A weigher's multiplier option, also the aggregate metadata key that overrides it.
    """

    name: str
    source: str
    default: bool = False
    option: str = ""

    def load(self) -> Any:
        module, _, attribute = self.source.partition(":")
        return getattr(import_module(f"scheduler_svc.core.{module}"), attribute)


# Cheap filters first. Enabled by default: gantt's basic filters, Nova's defaults, and filters that cost nothing unless
# a request uses them.
FILTERS = (
    # No work: rejects no host.
    BuiltIn("AllHostsFilter", "filters.host_names:ALL"),
    # Two stored columns. First, so that no other reason counts hosts that are down.
    BuiltIn("ComputeFilter", "filters.compute:SERVICE", default=True),
    # One lookup per name. First of the request's conditions, as it may leave only a few hosts.
    BuiltIn("ForceHostsFilter", "filters.host_names:FORCED", default=True),
    # The same lookup, usually for few names.
    BuiltIn("IgnoreHostsFilter", "filters.host_names:IGNORED", default=True),
    # The same lookup, for the hosts of hinted instances.
    BuiltIn("SameHostFilter", "filters.host_names:SAME", default=True),
    # As above.
    BuiltIn("DifferentHostFilter", "filters.host_names:DIFFERENT", default=True),
    # The same lookup. After the caller's conditions, so that its reason counts only hosts excluded by the group.
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
    # A cached result per distinct facts document, and one lookup per row.
    BuiltIn("ImagePropertiesFilter", "filters.image_properties:build", default=True),
    # The same, per extra spec.
    BuiltIn("ComputeCapabilitiesFilter", "filters.compute_capabilities:FILTER", default=True),
    # A bit test per 64-bit word of aggregates.
    BuiltIn("MembershipFilter", "filters.membership:FILTER", default=True),
    # A bit test per 64 distinct traits in the cluster.
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
    # One mask. First precondition of the tree search, since few hosts report NUMA cells.
    BuiltIn("NUMATopologyFilter", "filters.numa_topology:FILTER", default=True),
    # A sum over trees per device class; few hosts have devices.
    BuiltIn("PciPassthroughFilter", "filters.pci_passthrough:FILTER", default=True),
    # A float comparison per class, and arithmetic for unit rules: the most expensive. Late also so that its reasons
    # count only hosts that meet all other conditions.
    BuiltIn("ResourcesFilter", "filters.resources:FILTER", default=True),
    # The same per distinct request group, with sums over trees.
    BuiltIn("RequestGroupsFilter", "filters.request_groups:FILTER", default=True),
    # As cheap as the first. Last, because callers wait for the hosts that it rejects: they must pass everything else.
    BuiltIn("ComputeFilter", "filters.compute:AUDITED", default=True),
)
# The order of weighers does not affect cost, but it does affect the sum of floats, and so the replay of recorded
# decisions. A policy keeps the order of its weighers.
WEIGHERS = (
    # Arithmetic on four stored columns.
    BuiltIn("FreeShareWeigher", "weighers.free_share:WEIGHER", default=True, option="free_share_weight_multiplier"),
    # One stored column each.
    BuiltIn("RAMWeigher", "weighers.free_amounts:RAM", option="ram_weight_multiplier"),
    BuiltIn("CPUWeigher", "weighers.free_amounts:CPU", option="cpu_weight_multiplier"),
    BuiltIn("DiskWeigher", "weighers.free_amounts:DISK", option="disk_weight_multiplier"),
    # Arithmetic on four stored columns; no work while servers are spread.
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
    # A sum over device classes; no work in a cluster without devices.
    BuiltIn("PCIWeigher", "weighers.pci:build", default=True, option="pci_weight_multiplier"),
    # One lookup per host of the group; no work for requests without the policy.
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
    # One comparison of an integer column; no work unless an instance moves.
    BuiltIn(
        "CrossCellWeigher", "weighers.cross_cell:WEIGHER", default=True, option="cross_cell_move_weight_multiplier"
    ),
    # A cached result per distinct facts document and location; no work for requests without volumes.
    BuiltIn("VolumeNearWeigher", "weighers.volume_near:WEIGHER", default=True, option="volume_near_weight_multiplier"),
    # One metric column per weighed property.
    BuiltIn("ImagePropertiesWeigher", "weighers.image_properties:build", option="image_props_weight_multiplier"),
    # One metric column per weighed metric. The multiplier option has another name, in group [metrics].
    BuiltIn("MetricsWeigher", "weighers.metrics:build", option="metrics_weight_multiplier"),
)


# Weighers of free capacity; the sign of their multipliers decides between spreading and packing.
CAPACITY_WEIGHERS = ("FreeShareWeigher", "RAMWeigher", "CPUWeigher", "DiskWeigher")


def names(entries: Iterable[BuiltIn]) -> tuple[str, ...]:
    """Return the names in order; a filter may have several entries."""
    return tuple(dict.fromkeys(entry.name for entry in entries))


def default_names(entries: Iterable[BuiltIn]) -> tuple[str, ...]:
    return names(entry for entry in entries if entry.default)
