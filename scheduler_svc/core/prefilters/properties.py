# SPDX-License-Identifier: Apache-2.0
"""Settings that both flavor and image may have: extra spec ``hw:KEY`` and image property ``hw_KEY``."""

from typing import Any

from oslo_utils import strutils

from rpcapi import errors
from scheduler_svc.core.request import SchedulingRequest


def read_text(request: SchedulingRequest, key: str) -> str | None:
    """Return the value of a setting, or None; raises InvalidSpec if flavor and image differ."""
    flavor_value: str | None
    image_value: str | None
    flavor_value, image_value = _read_values(request, key)
    if flavor_value and image_value and flavor_value != image_value:
        raise _conflict(key, flavor_value, image_value)
    return flavor_value or image_value


def read_flag(request: SchedulingRequest, key: str) -> bool:
    """Return the value of a boolean setting, default False; raises InvalidSpec if flavor and image differ."""
    flavor_value, image_value = (
        None if value is None else strutils.bool_from_string(value) for value in _read_values(request, key)
    )
    if flavor_value is not None and image_value is not None and flavor_value != image_value:
        raise _conflict(key, flavor_value, image_value)
    return bool(flavor_value or image_value)


def _read_values(request: SchedulingRequest, key: str) -> tuple[Any, Any]:
    extra_specs, image = request.extra_specs, request.image
    return extra_specs.get(f"hw:{key}") if extra_specs else None, (
        image.get("properties", {}).get(f"hw_{key}") if image else None
    )


def _conflict(key: str, flavor_value: Any, image_value: Any) -> errors.InvalidSpec:
    return errors.InvalidSpec(
        why=f"extra spec hw:{key}={flavor_value!r} and image property hw_{key}={image_value!r} must be equal"
    )
