# SPDX-License-Identifier: Apache-2.0
"""Nova's RequestSpecs as they go over the wire, and the queries to Placement that Nova makes of them."""

import os
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

os.environ["OS_NOVA_DISABLE_EVENTLET_PATCHING"] = "1"

from nova import objects
from nova.conf import CONF
from nova.objects import base
from nova.scheduler import utils
from peer_wire import serve

SETS = ("required_traits", "forbidden_traits", "forbidden_aggregates", "root_required", "root_forbidden")
DESTINATION = ("host", "node", "allow_cross_cell_move", "aggregates", "forbidden_aggregates")


class NovaSpecs:
    """Builds RequestSpecs with Nova's objects."""

    def __init__(self) -> None:
        CONF([], project="nova", default_config_files=[])
        objects.register_all()

    def ask(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the primitive of a RequestSpec and its request groups, with and without pinned CPUs.

        Or the error that Nova raises, as text.
        """
        spec = make_spec(**fields)
        primitive = base.NovaObjectSerializer().serialize_entity(None, spec)
        try:
            return {"primitive": primitive, "pinned": _query(spec, True), "shared": _query(spec, False)}
        except Exception as why:  # an error is a result too
            return {"primitive": primitive, "refused": f"{type(why).__name__}: {why}"}


def make_spec(
    flavor: Mapping[str, Any],
    properties: Mapping[str, str],
    *,
    groups: Sequence[Mapping[str, Any]] = (),
    params: Mapping[str, Any] | None = None,
    destination: Mapping[str, Any] | None = None,
    server_group: Mapping[str, Any] | None = None,
    remote_managed: bool | None = False,
    image_id: str = str(uuid.UUID(int=7)),
    **fields: Any,
) -> Any:
    """Return a RequestSpec; ``remote_managed`` None: it requests no device."""
    fields = {"project_id": "p", "user_id": "u", "num_instances": 1, "is_bfv": False, **fields}
    image = objects.ImageMeta(name="i", id=image_id, disk_format="raw")
    image.properties = objects.ImageMetaProps.from_dict(dict(properties))
    spec = objects.RequestSpec(
        flavor=objects.Flavor(**({"flavorid": "f", "name": "f"} | dict(flavor))),
        image=image,
        instance_uuid=str(uuid.UUID(int=1)),
        requested_resources=[objects.RequestGroup(**_with_sets(group)) for group in groups],
        request_level_params=objects.RequestLevelParams(**_with_sets(params or {})),
        pci_requests=None if remote_managed is None else _pci_requests(remote_managed),
        instance_group=None if server_group is None else _group(**server_group),
        **fields,
    )
    if destination is not None:
        spec.requested_destination = _destination(destination)
    return spec


def _group(*, rules: Mapping[str, str] | None = None, **fields: Any) -> Any:
    group = objects.InstanceGroup(**fields)
    if rules is not None:
        group._rules = rules
    return group


def _destination(fields: Mapping[str, Any]) -> Any:
    own_fields = {key: value for key, value in fields.items() if key in DESTINATION}
    destination = objects.Destination(**_with_sets(own_fields))
    if "cell" in fields:
        destination.cell = objects.CellMapping(uuid=fields["cell"], name="cell")
    return destination


def _with_sets(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: set(value) if key in SETS else value for key, value in fields.items()}


def _pci_requests(remote_managed: bool) -> Any:
    request = objects.InstancePCIRequest(
        count=1, spec=[{"remote_managed": str(remote_managed)}], request_id=str(uuid.UUID(int=2)), alias_name=None
    )
    return objects.InstancePCIRequests(requests=[request])


def _query(spec: Any, pins_cpus: bool) -> Mapping[str, Any]:
    request = utils.ResourceRequest.from_request_spec(spec, pins_cpus)
    if request.get_num_of_suffixed_groups() >= 2 and not request.group_policy:
        request.group_policy = "none"
    return {
        "policy": request.group_policy,
        "root_required": sorted(request._root_required),
        "root_forbidden": sorted(request._root_forbidden),
        "same_subtree": [list(suffixes) for suffixes in request._same_subtree],
        "groups": {
            suffix or "": {
                "resources": dict(group.resources),
                "required": sorted(group.required_traits),
                "forbidden": sorted(group.forbidden_traits),
                "member_of": [list(names) for names in group.aggregates],
                "forbidden_aggregates": sorted(group.forbidden_aggregates),
                "in_tree": group.in_tree,
            }
            for suffix, group in request._rg_by_id.items()
        },
    }


if __name__ == "__main__":
    serve({"ask": NovaSpecs().ask})
