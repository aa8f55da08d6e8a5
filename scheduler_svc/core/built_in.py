# SPDX-License-Identifier: Apache-2.0
"""Built-in filters and weighers in order. They are named, not imported: the master process must not import NumPy."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple


class BuiltInFailed(Exception):
    """Raised when a built-in filter, weigher or tree search fails. ``repeat(view)`` runs it again on any view."""

    def __init__(self, kind: str, name: str, repeat: Callable[[Any], object]) -> None:
        super().__init__(f"{kind} {name}")
        self.kind = kind
        self.name = name
        self.repeat = repeat


class BuiltIn(NamedTuple):
    """Built-in filter or weigher. ``source`` is "module:attribute": the object itself, or its factory from options."""

    name: str
    source: str
    default: bool = False  # enabled by default
    option: str = ""  # multiplier option of a weigher, and the aggregate metadata key that overrides it

    def load(self) -> Any:
        module, _, attribute = self.source.partition(":")
        return getattr(import_module(f"scheduler_svc.core.{module}"), attribute)


# Cheap filters first. Enabled by default: basic filters, Nova's defaults, and filters without cost unless requested.
FILTERS = (
    BuiltIn("AllHostsFilter", "filters.host_names:ALL"),
    # Early, so that no other reason counts hosts that are down.
    BuiltIn("ComputeFilter", "filters.compute:SERVICE", default=True),
    # One lookup per host name.
    BuiltIn("ForceHostsFilter", "filters.host_names:FORCED", default=True),
    BuiltIn("IgnoreHostsFilter", "filters.host_names:IGNORED", default=True),
    BuiltIn("SameHostFilter", "filters.host_names:SAME", default=True),
    BuiltIn("DifferentHostFilter", "filters.host_names:DIFFERENT", default=True),
    BuiltIn("ServerGroupAntiAffinityFilter", "filters.host_names:ANTI_AFFINITY", default=True),
    BuiltIn("ServerGroupAffinityFilter", "filters.host_names:AFFINITY", default=True),
    BuiltIn("IsolatedHostsFilter", "filters.isolated_hosts:build"),
    # Few operations on stored or cached columns.
    BuiltIn("AvailabilityZoneFilter", "filters.availability_zone:FILTER", default=True),
    BuiltIn("VolumePoolFilter", "filters.volume_pool:FILTER", default=True),
    BuiltIn("NetworkSegmentFilter", "filters.network_segment:FILTER", default=True),
    BuiltIn("SimpleCIDRAffinityFilter", "filters.near_address:FILTER"),
    BuiltIn("AggregateMultiTenancyIsolation", "filters.aggregates:PROJECTS"),
    BuiltIn("AggregateTypeAffinityFilter", "filters.aggregates:FLAVOR"),
    BuiltIn("AggregateInstanceExtraSpecsFilter", "filters.aggregates:EXTRA_SPECS"),
    BuiltIn("AggregateImagePropertiesIsolation", "filters.aggregates:build_image_properties"),
    BuiltIn("ImagePropertiesFilter", "filters.image_properties:build", default=True),
    BuiltIn("ComputeCapabilitiesFilter", "filters.compute_capabilities:FILTER", default=True),
    BuiltIn("MembershipFilter", "filters.membership:FILTER", default=True),
    BuiltIn("TraitsFilter", "filters.traits:FILTER", default=True),
    # One operation per metric, limit, query term or device class.
    BuiltIn("MetricsFilter", "filters.metrics:build"),
    BuiltIn("NumInstancesFilter", "filters.counts:build_instances"),
    BuiltIn("AggregateNumInstancesFilter", "filters.counts:build_instances_by_aggregate"),
    BuiltIn("IoOpsFilter", "filters.counts:build_io_ops"),
    BuiltIn("AggregateIoOpsFilter", "filters.counts:build_io_ops_by_aggregate"),
    BuiltIn("JsonFilter", "filters.json_query:FILTER"),
    BuiltIn("NUMATopologyFilter", "filters.numa_topology:FILTER", default=True),
    BuiltIn("PciPassthroughFilter", "filters.pci_passthrough:FILTER", default=True),
    # Late: the most expensive filters. Their reasons thus count only hosts that meet all earlier conditions.
    BuiltIn("ResourcesFilter", "filters.resources:FILTER", default=True),
    BuiltIn("RequestGroupsFilter", "filters.request_groups:FILTER", default=True),
    # Last: callers wait for the hosts that it rejects, so these must pass all other filters.
    BuiltIn("ComputeFilter", "filters.compute:WAITING", default=True),
)
# Every policy keeps this order: it affects floating-point sums, and thus the replay of recorded decisions.
WEIGHERS = (
    BuiltIn("FreeShareWeigher", "weighers.free_share:WEIGHER", default=True, option="free_share_weight_multiplier"),
    BuiltIn("RAMWeigher", "weighers.free_amounts:RAM", option="ram_weight_multiplier"),  # a stored column
    BuiltIn("CPUWeigher", "weighers.free_amounts:CPU", option="cpu_weight_multiplier"),  # a stored column
    BuiltIn("DiskWeigher", "weighers.free_amounts:DISK", option="disk_weight_multiplier"),  # a stored column
    BuiltIn("BalanceWeigher", "weighers.balance:WEIGHER", default=True, option="balance_weight_multiplier"),
    BuiltIn(
        "HypervisorVersionWeigher",
        "weighers.hypervisor_version:WEIGHER",
        option="hypervisor_version_weight_multiplier",
    ),
    BuiltIn("NumInstancesWeigher", "weighers.reported:INSTANCES_WEIGHER", option="num_instances_weight_multiplier"),
    BuiltIn("IoOpsWeigher", "weighers.reported:IO_OPS_WEIGHER", option="io_ops_weight_multiplier"),
    BuiltIn("PCIWeigher", "weighers.pci:build", default=True, option="pci_weight_multiplier"),
    BuiltIn(
        "SpecialHardwareWeigher",
        "weighers.special_hardware:WEIGHER",
        default=True,
        option="special_hardware_weight_multiplier",
    ),
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
    BuiltIn(
        "BuildFailureWeigher",
        "weighers.reported:BUILD_FAILURE_WEIGHER",
        default=True,
        option="build_failure_weight_multiplier",
    ),
    BuiltIn(
        "CrossCellWeigher", "weighers.cross_cell:WEIGHER", default=True, option="cross_cell_move_weight_multiplier"
    ),
    BuiltIn("VolumeNearWeigher", "weighers.volume_near:WEIGHER", default=True, option="volume_near_weight_multiplier"),
    BuiltIn("ImagePropertiesWeigher", "weighers.image_properties:build", option="image_props_weight_multiplier"),
    # The multiplier option is [metrics] weight_multiplier.
    BuiltIn("MetricsWeigher", "weighers.metrics:build", option="metrics_weight_multiplier"),
)


# Weighers of free capacity. The sign of their multipliers decides between spreading and packing.
CAPACITY_WEIGHERS = ("FreeShareWeigher", "RAMWeigher", "CPUWeigher", "DiskWeigher")


def _names(entries: Iterable[BuiltIn]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry.name for entry in entries))


FILTER_NAMES, WEIGHER_NAMES = _names(FILTERS), _names(WEIGHERS)
DEFAULT_FILTERS = _names(entry for entry in FILTERS if entry.default)
DEFAULT_WEIGHERS = _names(entry for entry in WEIGHERS if entry.default)
