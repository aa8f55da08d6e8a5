# SPDX-License-Identifier: Apache-2.0
"""New images for rebuilds; the instance's current host must be able to run them under the current claim."""

from collections.abc import Mapping, Sequence
from typing import Any

from conductor.parts import ConductorParts, ServiceClients
from conductor.requests.target_checks import check_fits
from conductor.saga.saga_pass import instance_spec
from conductor.store.records import InstanceRecord
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.validation.documents import IMAGE

# Prefixes of image properties that determine resources, traits or topology. A rebuild keeps the claim, so it must not
# change them.
CLAIMED = (
    *("trait:", "hw_numa_", "hw_cpu_", "hw_mem_page_size", "hw_mem_encryption", "hw_locked_memory"),
    *("hw_emulator_threads_policy", "hw_pci_numa_affinity_policy", "hw_tpm_"),
)
REBUILD = "rebuild"  # scope of the dry run


def specs_with_image(
    parts: ConductorParts, ctxt: RequestContext, records: Sequence[InstanceRecord], image: Mapping[str, Any]
) -> Mapping[str, Mapping[str, Any]]:
    """Return {instance: spec primitive with the new image}; instances without a host skip the host check.

    Raises InvalidSpec for an image that is invalid or needs another claim, NoValidHost, UnknownHost, or Unavailable or
    a subclass.
    """
    IMAGE("image", image)
    if not image:
        raise errors.InvalidSpec(why="the image of a rebuild needs an id or a name")
    requests = parts.store.requests(sorted({record.request for record in records}))
    specs = {}
    for record in records:
        spec = instance_spec(record, requests[record.request])
        _check_claim_stays(record, spec, image)
        specs[record.uuid] = spec.with_values(image=dict(image))
    _check_hosts(parts.clients, ctxt, records, specs)
    return {uuid: spec.obj_to_primitive() for uuid, spec in specs.items()}


def _check_hosts(
    clients: ServiceClients,
    ctxt: RequestContext,
    records: Sequence[InstanceRecord],
    specs: Mapping[str, objects.RequestSpec],
) -> None:
    checked = set()
    for record in records:
        checked_host = (record.request, record.host)
        if record.host is None or checked_host in checked:
            continue
        checked.add(checked_host)
        _check_host(clients, ctxt, record, specs[record.uuid])


def _check_host(
    clients: ServiceClients, ctxt: RequestContext, record: InstanceRecord, spec: objects.RequestSpec
) -> None:
    # Check only what depends on the image: the instance keeps its claim.
    checked = objects.RequestSpec.of(
        flavor=spec.flavor,
        resources=spec.resources or {"VCPU": 1},
        image=spec.image,
        extra_specs=spec.extra_specs,
        force_hosts=[record.host],
    )
    refused = f"{record.host} cannot run instance {record.uuid} with this image"
    check_fits(clients, ctxt, checked, refused, scope=REBUILD)


def _check_claim_stays(record: InstanceRecord, spec: objects.RequestSpec, image: Mapping[str, Any]) -> None:
    old, new = _claimed(spec.image), _claimed(image)
    changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    if changed:
        name = changed[0]
        raise errors.InvalidSpec(
            why=f"property {name} of the image is {new.get(name)!r}, but instance {record.uuid} was claimed with "
            f"{old.get(name)!r}: a rebuild keeps the claim"
        )


def _claimed(image: Mapping[str, Any]) -> dict[str, str]:
    return {name: value for name, value in (image.get("properties") or {}).items() if name.startswith(CLAIMED)}
