# SPDX-License-Identifier: Apache-2.0
"""Options of prefilters, which rewrite requests before filtering. Names, meanings, defaults and group are Nova's."""

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.core.prefilters.options import PrefilterOptions

GROUP = "scheduler"
ROUTED_NETWORKS = "query_placement_for_routed_network_aggregates"

OPTS: list[cfg.Opt] = [
    cfg.BoolOpt(
        "limit_tenants_to_placement_aggregate",
        default=False,
        mutable=True,
        help="Whether a project is limited to aggregates with its id in metadata filter_tenant_id, or in a key with "
        "that prefix. Other projects may still use these hosts: see AggregateMultiTenancyIsolation.",
    ),
    cfg.BoolOpt(
        "placement_aggregate_required_for_tenants",
        default=False,
        mutable=True,
        help="Whether limit_tenants_to_placement_aggregate refuses projects without such an aggregate.",
    ),
    cfg.BoolOpt(
        "query_placement_for_image_type_support",
        default=False,
        mutable=True,
        help="Whether a host must have the trait of the image's disk format, such as COMPUTE_IMAGE_TYPE_QCOW2.",
    ),
    cfg.BoolOpt(
        "enable_isolated_aggregate_filtering",
        default=False,
        mutable=True,
        help="Whether aggregates with metadata trait:NAME=required accept only requests that require all these traits.",
    ),
    cfg.BoolOpt(
        "image_metadata_prefilter",
        default=False,
        mutable=True,
        help="Whether a host must have the traits that correspond to the image's hw_cdrom_bus, hw_disk_bus, "
        "hw_video_model, hw_vif_model, hw_architecture, hw_emulation_architecture and hw_viommu_model.",
    ),
    cfg.BoolOpt(
        ROUTED_NETWORKS,
        default=False,
        help="Must be false: Nova's prefilter for routed networks needs Neutron, for which gantt has no client. A "
        "scheduler with true does not start.",
    ),
]


def check(conf: cfg.ConfigOpts) -> None:
    if conf.scheduler[ROUTED_NETWORKS]:
        raise errors.BadConfiguration(
            why=f"[{GROUP}] {ROUTED_NETWORKS} is true, but gantt has no Neutron client and would place servers on "
            "hosts that their routed networks do not reach"
        )


def load(conf: cfg.ConfigOpts) -> PrefilterOptions:
    group = conf.scheduler
    return PrefilterOptions(
        limit_tenants=group.limit_tenants_to_placement_aggregate,
        tenants_need_aggregate=group.placement_aggregate_required_for_tenants,
        image_types=group.query_placement_for_image_type_support,
        isolated_aggregates=group.enable_isolated_aggregate_filtering,
        image_metadata=group.image_metadata_prefilter,
        accelerators=conf.nova.enabled,
        default_zone=conf.nova.default_availability_zone if conf.nova.enabled else None,
    )
