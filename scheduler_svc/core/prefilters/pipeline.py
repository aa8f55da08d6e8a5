# SPDX-License-Identifier: Apache-2.0
"""Prefilters in order, and their application to a request."""

from collections.abc import Mapping, Sequence

from scheduler_svc.core.prefilters import isolated_aggregates, tenant_aggregates, traits, zone_aggregates
from scheduler_svc.core.prefilters.options import DEFAULTS, PrefilterOptions
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.core.request import COMPUTE, SchedulingRequest
from scheduler_svc.core.table.aggregates import AggregateView

# Request fields that prefilters may extend.
REWRITTEN = ("member_of", "forbidden_aggregates", "root_required")


def build(options: PrefilterOptions = DEFAULTS) -> Sequence[Prefilter]:
    return [prefilter for enabled, prefilter in _available(options) if enabled]


def _available(options: PrefilterOptions) -> Sequence[tuple[bool, Prefilter]]:
    """Return (enabled, prefilter) of all prefilters.

    Four of Nova's fourteen are not needed: compute_status_filter (the table knows disabled hosts),
    routed_networks_filter and owner_nova_filter (filters check segments and trait), remote_managed_ports_filter
    (request conversion handles ports).
    """
    return (
        # First: may exclude most hosts.
        (options.limit_tenants, tenant_aggregates.build(options)),
        (options.default_zone is not None, zone_aggregates.build(options)),
        (options.image_types, traits.IMAGE_TYPE),
        # Checks the original request, so before other prefilters add traits.
        (options.isolated_aggregates, isolated_aggregates.PREFILTER),
        (options.image_metadata, traits.IMAGE_METADATA),
        # One key lookup each.
        (options.accelerators, traits.ACCELERATORS),
        (True, traits.PACKED_VIRTQUEUE),
        (True, traits.EPHEMERAL_ENCRYPTION),
        (True, traits.VIRTIO_SOUND),
        (True, traits.TPM_SECRET_SECURITY),
    )


NAMES = tuple(prefilter.name for _, prefilter in _available(DEFAULTS))


def run(prefilters: Sequence[Prefilter], request: SchedulingRequest, aggregates: AggregateView) -> SchedulingRequest:
    """Apply the prefilters to a server's request, which records their additions. Raises NoValidHost, InvalidSpec."""
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
