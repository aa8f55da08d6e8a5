# SPDX-License-Identifier: Apache-2.0
"""Built-in filters and weighers, listed once in order of application.

Modules are named, not imported: the master process reads the lists for its configuration, and must not import NumPy.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple


class BuiltInFailed(Exception):
    """Raised when a built-in filter, weigher or tree search fails; ``repeat(view)`` repeats it on another view."""

    def __init__(self, kind: str, name: str, repeat: Callable[[Any], object]) -> None:
        super().__init__(f"{kind} {name}")
        self.kind = kind
        self.name = name
        self.repeat = repeat


class BuiltIn(NamedTuple):
    """A built-in filter or weigher by its configured name.

    ``source`` is "module:attribute" in scheduler_svc.core: a Filter or Weigher, or a function from FilterOptions or
    WeigherOptions to one.
    """

    name: str
    source: str
    default: bool = False  # whether it is enabled by default
    option: str = ""  # weigher's multiplier option, also the aggregate metadata key that overrides it

    def load(self) -> Any:
        module, _, attribute = self.source.partition(":")
        return getattr(import_module(f"scheduler_svc.core.{module}"), attribute)


# Cheap filters first. Defaults: basic filters, Nova's defaults, and filters without cost unless a request uses them.
FILTERS = (
    BuiltIn("AllHostsFilter", "filters.host_names:ALL"),  # no work
    # First, so that no other reason counts hosts that are down. Two stored columns.
    BuiltIn("ComputeFilter", "filters.compute:SERVICE", default=True),
    BuiltIn("ForceHostsFilter", "filters.host_names:FORCED", default=True),  # a lookup per name; may leave few hosts
    BuiltIn("IgnoreHostsFilter", "filters.host_names:IGNORED", default=True),  # a lookup per name
    BuiltIn("SameHostFilter", "filters.host_names:SAME", default=True),  # a lookup per hinted instance
    BuiltIn("DifferentHostFilter", "filters.host_names:DIFFERENT", default=True),  # a lookup per hinted instance
    BuiltIn("ServerGroupAntiAffinityFilter", "filters.host_names:ANTI_AFFINITY", default=True),  # a lookup per member
    BuiltIn("ServerGroupAffinityFilter", "filters.host_names:AFFINITY", default=True),  # a lookup per member
    BuiltIn("IsolatedHostsFilter", "filters.isolated_hosts:build"),  # a lookup per configured name
    BuiltIn("AvailabilityZoneFilter", "filters.availability_zone:FILTER", default=True),  # a comparison of integers
    BuiltIn("VolumePoolFilter", "filters.volume_pool:FILTER", default=True),  # a lookup of a pool's host names
    BuiltIn("NetworkSegmentFilter", "filters.network_segment:FILTER", default=True),  # a bit test per network
    BuiltIn("SimpleCIDRAffinityFilter", "filters.near_address:FILTER"),  # three comparisons of integers
    BuiltIn("AggregateMultiTenancyIsolation", "filters.aggregates:PROJECTS"),  # a cached column
    BuiltIn("AggregateTypeAffinityFilter", "filters.aggregates:FLAVOR"),  # a cached column
    BuiltIn("AggregateInstanceExtraSpecsFilter", "filters.aggregates:EXTRA_SPECS"),  # a cached column per extra spec
    BuiltIn("AggregateImagePropertiesIsolation", "filters.aggregates:build_image_properties"),  # a cached column
    BuiltIn("ImagePropertiesFilter", "filters.image_properties:build", default=True),  # a lookup of cached results
    BuiltIn("ComputeCapabilitiesFilter", "filters.compute_capabilities:FILTER", default=True),  # the same per spec
    BuiltIn("MembershipFilter", "filters.membership:FILTER", default=True),  # a bit test per 64 aggregates
    BuiltIn("TraitsFilter", "filters.traits:FILTER", default=True),  # a bit test per 64 traits of the cluster
    BuiltIn("MetricsFilter", "filters.metrics:build"),  # a test per metric; hosts usually report all
    BuiltIn("NumInstancesFilter", "filters.counts:build_instances"),  # a comparison of floats
    BuiltIn("AggregateNumInstancesFilter", "filters.counts:build_instances_by_aggregate"),  # with cached limits
    BuiltIn("IoOpsFilter", "filters.counts:build_io_ops"),  # a comparison of floats
    BuiltIn("AggregateIoOpsFilter", "filters.counts:build_io_ops_by_aggregate"),  # with cached limits
    BuiltIn("JsonFilter", "filters.json_query:FILTER"),  # a comparison per query term, up to a hundred
    BuiltIn("NUMATopologyFilter", "filters.numa_topology:FILTER", default=True),  # one mask; few hosts have cells
    BuiltIn("PciPassthroughFilter", "filters.pci_passthrough:FILTER", default=True),  # a sum per device class
    # Late, as the most expensive filter, and so that its reasons count only hosts that meet all other conditions.
    BuiltIn("ResourcesFilter", "filters.resources:FILTER", default=True),
    BuiltIn("RequestGroupsFilter", "filters.request_groups:FILTER", default=True),  # the same per request group
    # Last, because callers wait for the hosts that it rejects: they must pass everything else.
    BuiltIn("ComputeFilter", "filters.compute:WAITING", default=True),
)
# The order affects the sum of floats, and so the replay of recorded decisions. A policy keeps this order.
WEIGHERS = (
    # Arithmetic on four stored columns.
    BuiltIn("FreeShareWeigher", "weighers.free_share:WEIGHER", default=True, option="free_share_weight_multiplier"),
    BuiltIn("RAMWeigher", "weighers.free_amounts:RAM", option="ram_weight_multiplier"),  # a stored column
    BuiltIn("CPUWeigher", "weighers.free_amounts:CPU", option="cpu_weight_multiplier"),  # a stored column
    BuiltIn("DiskWeigher", "weighers.free_amounts:DISK", option="disk_weight_multiplier"),  # a stored column
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


def _names(entries: Iterable[BuiltIn]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry.name for entry in entries))


FILTER_NAMES, WEIGHER_NAMES = _names(FILTERS), _names(WEIGHERS)
DEFAULT_FILTERS = _names(entry for entry in FILTERS if entry.default)
DEFAULT_WEIGHERS = _names(entry for entry in WEIGHERS if entry.default)
