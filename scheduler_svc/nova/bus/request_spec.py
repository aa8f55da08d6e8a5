# SPDX-License-Identifier: Apache-2.0
"""Translation of Nova's RequestSpec to gantt's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import os_traits

from rpcapi import objects
from rpcapi.resources import query
from rpcapi.resources.claims import GroupPolicy
from rpcapi.spec_builder.draft import FlavorImageProperties, SpecDraft, parse_integer
from rpcapi.validation.hints import GROUP_HINT, single_value
from rpcapi.validation.instances import is_uuid
from scheduler_svc.nova.bus import flavors, images
from scheduler_svc.nova.bus.destinations import Destination
from scheduler_svc.nova.bus.destinations import read as read_destination
from scheduler_svc.nova.bus.primitives import NovaFields, read

NAME = "RequestSpec"
CHECK_TYPE = "_nova_check_type"  # Nova's internal hint that selects the checks of a call for a forced host
REBUILD = ["rebuild"]
MAX_PER_HOST = "max_server_per_host"


@dataclass(frozen=True, slots=True)
class NovaRequest:
    """Translated request: gantt's spec, and the parts of Nova's spec that it cannot express."""

    spec: objects.RequestSpec
    project: str
    user: str  # '' if the spec has no user
    count: int
    destination: Destination
    fallback: objects.RequestSpec | None = None  # Spec with VCPU instead of dedicated CPUs (PCPU), if any.
    is_rebuild: bool = False  # the host stays, and only filters that depend on the image apply
    skips_filters: bool = False  # the host is forced, and only Placement's checks apply
    members: tuple[str, ...] = ()  # consumers in the server group
    group_project: str = ""  # owner of the server group, '' if the spec does not say
    member_hosts: tuple[str, ...] = ()  # service hosts of the group's members


def translate(primitive: Any) -> NovaRequest:
    """Translate a RequestSpec's primitive; the resulting specs are not checked yet.

    Hosts keep their names in Nova: service host, node, or a pair. Raises MalformedObject, IncompatibleObject and
    InvalidSpec.
    """
    fields = read(primitive, NAME)
    hints = dict(fields.mapping("scheduler_hints"))
    hinted_group = single_value(hints.pop(GROUP_HINT, None))  # the instance group says whether a policy applies
    check_type = hints.pop(CHECK_TYPE, None)
    if isinstance(hints.get(query.HINT), list):
        # Nova wraps every hint in a list, but for gantt a list is a query itself.
        hints[query.HINT] = next(iter(hints[query.HINT]), "")
    destination = read_destination(fields)
    is_rebuild = check_type == REBUILD
    skips_filters = destination.is_forced and not check_type
    group = fields.object("instance_group", "InstanceGroup")
    values = {
        "hints": hints,
        "availability_zone": fields.text("availability_zone") or None,
        "ignore_hosts": fields.texts("ignore_hosts"),
        "force_hosts": destination.names,
        "member_of": [names.split(",") for names in destination.aggregates],
        "forbidden_aggregates": list(destination.forbidden_aggregates),
        **({} if skips_filters or is_rebuild or group is None else _group_fields(group, hinted_group)),
    }
    spec, fallback = _build_specs(fields, values)
    return NovaRequest(
        spec,
        fields.text("project_id"),
        fields.text("user_id"),
        fields.integer("num_instances", 1),
        destination,
        fallback,
        is_rebuild=is_rebuild,
        skips_filters=skips_filters,
        group_project="" if group is None else group.text("project_id"),
        members=() if group is None else tuple(group.texts("members")),
        member_hosts=() if group is None else tuple(group.texts("hosts")),
    )


def _build_specs(
    fields: NovaFields, values: Mapping[str, Any]
) -> tuple[objects.RequestSpec, objects.RequestSpec | None]:
    flavor_fields = fields.object("flavor", "Flavor")
    if flavor_fields is None:
        raise fields.malformed("flavor", "is missing")
    flavor = flavors.read_flavor(flavor_fields, boots_from_volume=fields.flag("is_bfv"))
    image = images.translate(fields.object("image", "ImageMeta"))
    flavor_image = FlavorImageProperties(flavor, image)
    groups = flavors.read_groups(fields.objects("requested_resources", "RequestGroup"))
    image_fields = image.as_dict()
    if fields.flag("is_bfv"):
        image_fields.pop("disk_format", None)  # a host need not support the disk format of an image that is on a volume

    def build(draft: SpecDraft) -> objects.RequestSpec:
        _add_request_level(fields, draft)
        return objects.RequestSpec.of(
            **draft.spec_fields(),
            **values,
            flavor=flavor.name or None,
            image=image_fields,
            extra_specs=dict(flavor.extra_specs),
        )

    spec = build(flavors.draft(flavor_image, groups))
    if not flavors.has_dedicated_cpus(flavor_image):
        return spec, None
    return spec, build(flavors.draft(flavor_image, groups, pins_cpus=False))


def _add_request_level(fields: NovaFields, draft: SpecDraft) -> None:
    params = fields.object("request_level_params", "RequestLevelParams")
    if params is not None:
        draft.root["required"].extend(sorted(params.texts("root_required")))
        draft.root["forbidden"].extend(sorted(params.texts("root_forbidden")))
        draft.same_subtree.extend(params.lists_of_texts("same_subtree"))
    if _has_remote_managed_port(fields):
        draft.root["required"].append(os_traits.COMPUTE_REMOTE_MANAGED_PORTS)


def _has_remote_managed_port(fields: NovaFields) -> bool:
    pci_requests = fields.object("pci_requests", "InstancePCIRequests")
    if pci_requests is None:
        return False
    return any(
        isinstance(device, dict) and str(device.get("remote_managed")).lower() == "true"
        for request in pci_requests.objects("requests", "InstancePCIRequest")
        for device in request.elements("spec")
    )


def _group_fields(group: NovaFields, hinted_group: Any) -> Mapping[str, Any]:
    policies: Sequence[str] = group.texts("policies")  # set by Nova versions without ``policy``
    policy = group.text("policy") or (policies[0] if policies else "")
    if not policy:
        return {}
    # Specs that an early Nova stored name the group in the hint only.
    group_id = group.text("uuid") or hinted_group
    if not is_uuid(group_id):
        raise group.malformed("uuid", "is missing or is no uuid")
    limit = parse_integer(str(group.mapping("_rules").get(MAX_PER_HOST, 1)))
    return {
        "group_id": group_id,
        "group_policy": policy,
        "group_max_per_host": limit or 1 if policy == GroupPolicy.ANTI_AFFINITY else 1,
    }
