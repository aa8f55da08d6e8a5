# SPDX-License-Identifier: Apache-2.0
"""Checks of new images for rebuilds: the current host must run them under the current claim."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from conductor.collaborators import Conductor, ServiceClients
from conductor.requests.target_checks import check_fits
from conductor.saga.step_context import instance_spec
from conductor.store.records import InstanceRecord
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.objects.request_schema import boot_volume, check_spec
from rpcapi.spec_builder.rebuild import changed_fields
from rpcapi.validation.documents import IMAGE
from rpcapi.validation.text import join_names

REBUILD = "rebuild"  # dry-run scope


def specs_with_image(
    conductor: Conductor, ctxt: RequestContext, records: Sequence[InstanceRecord], image: Mapping[str, Any]
) -> Mapping[str, Mapping[str, Any]]:
    """Return {instance: spec primitive}. Raises InvalidSpec, NoValidHost, UnknownHost or Unavailable."""
    IMAGE("image", image)
    if not image:
        raise errors.InvalidSpec(why="the image of a rebuild needs an id or a name")
    requests = conductor.store.requests(sorted({record.request for record in records}))
    specs = {}
    for record in records:
        spec = instance_spec(record, requests[record.request])
        _check_claim_stays(record, spec, image)
        ignored = () if boot_volume(spec) is None else ("disk_format",)
        rebuilt = spec.with_values(image={key: value for key, value in image.items() if key not in ignored})
        check_spec(rebuilt)
        specs[record.uuid] = rebuilt
    _check_hosts(conductor.clients, ctxt, records, specs)
    return {uuid: spec.obj_to_primitive() for uuid, spec in specs.items()}


def _check_hosts(
    clients: ServiceClients,
    ctxt: RequestContext,
    records: Sequence[InstanceRecord],
    specs: Mapping[str, objects.RequestSpec],
) -> None:
    checked = set()
    for record in records:
        if record.host is None:
            continue
        spec = _host_check(record.host, specs[record.uuid])
        text = json.dumps(spec.obj_to_primitive(), sort_keys=True)
        if text not in checked:
            checked.add(text)
            refused = f"{record.host} cannot run instance {record.uuid} with this image"
            check_fits(clients, ctxt, spec, refused, scope=REBUILD)


def _host_check(host: str, spec: objects.RequestSpec) -> objects.RequestSpec:
    """Return a request for what depends on the image: the instance keeps its claim, whose size was compared before."""
    image = {key: value for key, value in spec.image.items() if key not in ("min_ram_mb", "min_disk_gb")}
    return objects.RequestSpec.of(
        flavor=spec.flavor,
        resources=spec.resources or {"VCPU": 1},
        image=image,
        extra_specs=spec.extra_specs,
        force_hosts=[host],
    )


def _check_claim_stays(record: InstanceRecord, spec: objects.RequestSpec, image: Mapping[str, Any]) -> None:
    changed = changed_fields(spec, image)
    if changed:
        why = f"the image changes {join_names(changed)} of instance {record.uuid}: a rebuild keeps the claim"
        raise errors.InvalidSpec(why=why)
