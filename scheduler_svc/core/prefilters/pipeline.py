# SPDX-License-Identifier: Apache-2.0
"""Order of the prefilters, and their application to a request."""

from collections.abc import Mapping, Sequence

from scheduler_svc.core.prefilters import by_aggregate, traits
from scheduler_svc.core.prefilters.options import DEFAULTS, PrefilterOptions
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.core.request import COMPUTE, SchedulingRequest
from scheduler_svc.core.table.aggregates import AggregateView

# Request fields that prefilters may extend.
REWRITTEN = ("member_of", "forbidden_aggregates", "root_required")


def build(options: PrefilterOptions = DEFAULTS) -> Sequence[Prefilter]:
    return [prefilter for enabled, prefilter in _available(options) if enabled]


def _available(options: PrefilterOptions) -> Sequence[tuple[bool, Prefilter]]:
    """Return (enabled, prefilter) for all prefilters, in order.

    Four of Nova's fourteen are not needed. The table knows disabled hosts (compute_status_filter), filters check
    segments and the trait (routed_networks_filter, owner_nova_filter), and the request's conversion handles ports
    (remote_managed_ports_filter).
    """
    return (
        # First, because it may exclude most hosts.
        (options.limit_tenants, by_aggregate.build_tenants(options)),
        (options.default_zone is not None, by_aggregate.build_zones(options)),
        (options.image_types, traits.IMAGE_TYPE),
        # Before all prefilters that add traits, because it checks the original request.
        (options.isolated_aggregates, by_aggregate.ISOLATED),
        (options.image_metadata, traits.IMAGE_METADATA),
        # These look up one key each.
        (options.accelerators, traits.ACCELERATORS),
        (True, traits.PACKED_VIRTQUEUE),
        (True, traits.EPHEMERAL_ENCRYPTION),
        (True, traits.VIRTIO_SOUND),
        (True, traits.TPM_SECRET_SECURITY),
    )


NAMES = tuple(prefilter.name for _, prefilter in _available(DEFAULTS))


def run(prefilters: Sequence[Prefilter], request: SchedulingRequest, aggregates: AggregateView) -> SchedulingRequest:
    """Apply the prefilters to a server's request and record their additions. Raises NoValidHost, InvalidSpec."""
    if request.service != COMPUTE:
        return request
    added: dict[str, Mapping[str, list[object]]] = {}
    for prefilter in prefilters:
        before, request = request, prefilter.rewrite(request, aggregates)
        if request is not before:
            added[prefilter.name] = _find_additions(before, request)
    return request.with_decision(rewritten=added) if added else request


def _find_additions(before: SchedulingRequest, after: SchedulingRequest) -> Mapping[str, list[object]]:
    additions = {name: getattr(after, name)[len(getattr(before, name)) :] for name in REWRITTEN}
    # JSON types for the decision record.
    return {
        name: [list(value) if isinstance(value, tuple) else value for value in values]
        for name, values in additions.items()
        if values
    }
