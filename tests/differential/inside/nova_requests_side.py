# SPDX-License-Identifier: Apache-2.0
"""Nova's translation of a flavor and an image: the guest's NUMA topology and the query to Placement."""

import os
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

os.environ["OS_NOVA_DISABLE_EVENTLET_PATCHING"] = "1"

from nova import objects
from nova.conf import CONF
from nova.pci import request as pci_request
from nova.scheduler import utils
from nova.virt import hardware
from peer_wire import serve

PAGES = {hardware.MEMPAGES_SMALL: "small", hardware.MEMPAGES_LARGE: "large", hardware.MEMPAGES_ANY: "any"}


class NovaRequests:
    """Translates flavors and images with Nova's code."""

    def __init__(self) -> None:
        CONF([], project="nova", default_config_files=[])
        CONF.set_override("pci_in_placement", True, group="filter_scheduler")
        objects.register_all()

    def prepare(self, aliases: Sequence[str]) -> None:
        """Set the PCI aliases."""
        CONF.set_override("alias", aliases, group="pci")

    def ask(self, flavor: Mapping[str, Any], properties: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the cells, the request groups and the root's traits, or the error that Nova raises."""
        try:
            return self._translate(flavor, properties)
        except Exception as why:  # an error is a result too
            return {"refused": f"{type(why).__name__}: {why}"}

    def _translate(self, flavor_fields: Mapping[str, Any], properties: Mapping[str, str]) -> Mapping[str, Any]:
        flavor = objects.Flavor(flavorid="f", name="f", ephemeral_gb=0, swap=0, **flavor_fields)
        image = objects.ImageMeta(name="i", id=str(uuid.UUID(int=7)))
        image.properties = objects.ImageMetaProps.from_dict(properties)
        topology = hardware.numa_get_constraints(flavor, image)
        policy = hardware.get_pci_numa_policy_constraint(flavor, image)
        spec = objects.RequestSpec(
            flavor=flavor,
            image=image,
            is_bfv=False,
            pci_requests=pci_request.get_pci_requests_from_flavor(flavor, affinity_policy=policy),
            requested_resources=[],
            request_level_params=objects.RequestLevelParams(),
        )
        spec.generate_request_groups_from_pci_requests()
        request = utils.ResourceRequest.from_request_spec(spec)
        return {
            "cells": None if topology is None else [_cell(cell) for cell in topology.cells],
            "devices": sorted(
                device_request.numa_policy
                for device_request in spec.pci_requests.requests
                for _ in range(device_request.count)
            ),
            "policy": request.group_policy,
            "groups": {suffix or "": _group(group) for suffix, group in request._rg_by_id.items()},
        }


def _cell(cell: Any) -> Mapping[str, Any]:
    return {
        "cpus": sorted(cell.cpuset | cell.pcpuset),
        "pinned": sorted(cell.pcpuset),
        "memory_mb": cell.memory,
        "page": PAGES.get(cell.pagesize, cell.pagesize),
        "cpu_policy": cell.cpu_policy or "shared",
        "thread_policy": cell.cpu_thread_policy,
    }


def _group(group: Any) -> Mapping[str, Any]:
    return {
        "resources": dict(group.resources),
        "required": sorted(group.required_traits),
        "forbidden": sorted(group.forbidden_traits),
    }


if __name__ == "__main__":
    nova = NovaRequests()
    serve({"prepare": nova.prepare, "ask": nova.ask})
