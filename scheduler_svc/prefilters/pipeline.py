# SPDX-License-Identifier: Apache-2.0
"""The prefilters in their order, and what they made of a request."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scheduler_svc.prefilters import devices, image_metadata, image_type, isolated_aggregates, tenant_aggregates
from scheduler_svc.prefilters.options import DEFAULTS, Options
from scheduler_svc.prefilters.prefilter import Prefilter
from scheduler_svc.request import COMPUTE, Request
from scheduler_svc.table.aggregates import AggregatesSeen

# All that a rewriting may add to.
REWRITTEN = ("member_of", "forbidden_aggregates", "root_required")


def build(options: Options = DEFAULTS) -> Sequence[Prefilter]:
    """Return the prefilters that are wanted, in Nova's order.

    Of Nova's fourteen six are missing here, since what they ask is kept without them. map_az_to_placement_aggregate:
    zones of aggregates are the table's. compute_status_filter: the table knows who is disabled. accelerators_filter:
    devices are providers. routed_networks_filter: the segments of ports are a filter's. remote_managed_ports_filter:
    ports are translated at the edge. owner_nova_filter: providers have one owner.
    """
    every = (
        # First: it may leave a handful of hosts, or nobody.
        (options.limit_tenants, tenant_aggregates.build(options)),
        (options.image_types, image_type.PREFILTER),
        # Before traits are added that nobody asked for: it looks at those that were.
        (options.isolated_aggregates, isolated_aggregates.PREFILTER),
        (options.image_metadata, image_metadata.PREFILTER),
        # A look at one key each.
        (True, devices.PACKED_VIRTQUEUE),
        (True, devices.EPHEMERAL_ENCRYPTION),
        (True, devices.VIRTIO_SOUND),
        (True, devices.TPM_SECRET_SECURITY),
    )
    return [each for wanted, each in every if wanted]


NAMES = tuple(each.name for each in build(Options(*[True] * len(Options.__slots__))))


def run(prefilters: Sequence[Prefilter], request: Request, aggregates: AggregatesSeen) -> Request:
    """Return the request as they rewrite it, with what each of them added; raises NoValidHost and InvalidSpec.

    They are about servers: a volume or a port that is placed alone is not of an image, nor kept to its project's hosts.
    """
    if request.service != COMPUTE:
        return request
    added: dict[str, Mapping[str, list[object]]] = {}
    for each in prefilters:
        before, request = request, each.rewrite(request, aggregates)
        if request is not before:
            added[each.name] = _added(before, request)
    return replace(request, rewritten=added) if added else request


def _added(before: Request, after: Request) -> Mapping[str, list[object]]:
    found = {name: getattr(after, name)[len(getattr(before, name)) :] for name in REWRITTEN}
    # As JSON has it: it goes into the decision's record.
    return {
        name: [list(each) if isinstance(each, tuple) else each for each in more] for name, more in found.items() if more
    }
