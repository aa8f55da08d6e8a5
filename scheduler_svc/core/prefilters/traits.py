# SPDX-License-Identifier: Apache-2.0
"""Traits that prefilters require of the root provider."""

from dataclasses import replace

import os_traits

from scheduler_svc.core.request import SchedulingRequest


def require_traits(request: SchedulingRequest, *traits: str) -> SchedulingRequest:
    """Return the request with these traits required of the root provider."""
    added = tuple(trait for trait in dict.fromkeys(traits) if trait not in request.root_required)
    return replace(request, root_required=(*request.root_required, *added)) if added else request


def find_standard_trait(name: str) -> str | None:
    """Return ``name`` if it is a standard trait, else None."""
    return name if hasattr(os_traits, name) else None
