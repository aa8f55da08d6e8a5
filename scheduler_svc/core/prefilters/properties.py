# SPDX-License-Identifier: Apache-2.0
"""Settings from the flavor's extra spec ``hw:KEY`` or the image property ``hw_KEY``."""

from collections.abc import Callable
from typing import Any

from oslo_utils import strutils

from rpcapi import errors
from scheduler_svc.core.request import SchedulingRequest


def read_text(request: SchedulingRequest, key: str) -> str | None:
    """Return a setting, or None. Raises InvalidSpec if flavor and image differ."""
    text: str | None = _read(request, key, lambda value: value or None)
    return text


def read_flag(request: SchedulingRequest, key: str) -> bool:
    """Return a boolean setting, False by default. Raises InvalidSpec if flavor and image differ."""
    return bool(_read(request, key, strutils.bool_from_string))


def _read(request: SchedulingRequest, key: str, convert: Callable[[Any], Any]) -> Any:
    extra_specs, properties = request.extra_specs, request.image.get("properties", {})
    texts = (extra_specs.get(f"hw:{key}"), properties.get(f"hw_{key}"))
    flavor_value, image_value = (None if text is None else convert(text) for text in texts)
    if flavor_value is not None and image_value is not None and flavor_value != image_value:
        raise errors.InvalidSpec(
            why=f"extra spec hw:{key}={flavor_value!r} and image property hw_{key}={image_value!r} must be equal"
        )
    return flavor_value or image_value
