# SPDX-License-Identifier: Apache-2.0
"""``spec_obj`` argument of Nova-style plugins."""

from types import SimpleNamespace
from typing import Any

from os_resource_classes import DISK_GB, MEMORY_MB, PCPU, VCPU

from scheduler_svc.core.request import SchedulingRequest


class PluginRequestSpec:
    """Subset of Nova's RequestSpec. ``num_instances`` is 1, because all instances are filtered at once."""

    num_instances = 1

    def __init__(self, request: SchedulingRequest) -> None:
        self.request = request
        self.request_id = request.id
        self.project_id = request.project
        self.user_id = request.user
        self.availability_zone = request.availability_zone
        self.force_hosts = list(request.force_hosts)
        self.ignore_hosts = list(request.ignore_hosts)
        self.scheduler_hints = dict(request.hints)
        self.flavor = SimpleNamespace(  # the requested resources as flavor attributes
            name=request.flavor,
            vcpus=request.resources.get(VCPU, 0) + request.resources.get(PCPU, 0),
            memory_mb=request.resources.get(MEMORY_MB, 0),
            root_gb=request.resources.get(DISK_GB, 0),
            ephemeral_gb=0,
            swap=0,
            extra_specs=request.extra_specs,
        )
        self.image = SimpleNamespace(id=request.image.get("id"), properties=request.image.get("properties", {}))

    def get_scheduler_hint(self, hint_name: str, default: Any = None) -> Any:
        """Return a hint, or ``default``. A list of length 1 is unwrapped."""
        if hint_name not in self.scheduler_hints:
            return default
        hint = self.scheduler_hints[hint_name]
        return hint[0] if isinstance(hint, list) and len(hint) == 1 else hint
