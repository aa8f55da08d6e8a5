# SPDX-License-Identifier: Apache-2.0
"""A request as Nova's filters and weighers know it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from os_resource_classes import DISK_GB, MEMORY_MB, PCPU, VCPU

from scheduler_svc.request import Request


@dataclass(frozen=True, slots=True)
class Flavor:
    """What is asked for, in the words of a flavor."""

    name: str | None
    vcpus: int
    memory_mb: int
    root_gb: int
    extra_specs: Mapping[str, str]
    ephemeral_gb: int = 0
    swap: int = 0


@dataclass(frozen=True, slots=True)
class Image:
    """What is booted from."""

    id: str | None
    properties: Mapping[str, Any]


class Spec:
    """Reads like nova.objects.RequestSpec, as far as gantt's requests have the same; ``request`` is the whole.

    A request of many instances is filtered once: ``num_instances`` is always 1, and there is no instance_uuid.
    """

    num_instances = 1

    def __init__(self, request: Request) -> None:
        self.request = request
        self.request_id = request.id
        self.project_id = request.project
        self.user_id = request.user
        self.availability_zone = request.availability_zone
        self.force_hosts = list(request.force_hosts)
        self.ignore_hosts = list(request.ignore_hosts)
        self.scheduler_hints = dict(request.hints)
        self.flavor = Flavor(
            name=request.flavor,
            vcpus=request.resources.get(VCPU, 0) + request.resources.get(PCPU, 0),
            memory_mb=request.resources.get(MEMORY_MB, 0),
            root_gb=request.resources.get(DISK_GB, 0),
            extra_specs=request.extra_specs,
        )
        self.image = Image(request.image.get("id"), request.image.get("properties", {}))

    def get_scheduler_hint(self, hint_name: str, default: Any = None) -> Any:
        """Return a hint, the one value of a list of one, or ``default`` where it was not given."""
        if hint_name not in self.scheduler_hints:
            return default
        given = self.scheduler_hints[hint_name]
        return given[0] if isinstance(given, list) and len(given) == 1 else given
