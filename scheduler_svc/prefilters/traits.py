# SPDX-License-Identifier: Apache-2.0
"""Traits that a rewriting asks of the host itself."""

from dataclasses import replace

import os_traits

from scheduler_svc.request import Request


def required(request: Request, *traits: str) -> Request:
    """Return the request with these traits asked of the root of each tree."""
    added = tuple(trait for trait in traits if trait not in request.root_required)
    return replace(request, root_required=(*request.root_required, *added)) if added else request


def standard(name: str) -> str | None:
    """Return the standard trait of that name, None where there is none."""
    return name if hasattr(os_traits, name) else None
