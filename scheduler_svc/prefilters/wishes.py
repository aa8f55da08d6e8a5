# SPDX-License-Identifier: Apache-2.0
"""What flavor and image say of one thing: extra spec ``hw:KEY`` of the one, property ``hw_KEY`` of the other."""

from typing import Any

from oslo_utils import strutils

from rpcapi import errors
from scheduler_svc.request import Request


def one(request: Request, key: str) -> str | None:
    """Return what is said, None where nothing is; raises InvalidSpec where the two differ."""
    own, other = _both(request, key)
    if own and other and own != other:
        raise _conflict(key, own, other)
    return own or other


def flag(request: Request, key: str) -> bool:
    """Return whether it is wished for; raises InvalidSpec where one of the two wishes it and the other does not."""
    own, other = (None if each is None else strutils.bool_from_string(each) for each in _both(request, key))
    if own is not None and other is not None and own != other:
        raise _conflict(key, own, other)
    return bool(own or other)


def _both(request: Request, key: str) -> tuple[Any, Any]:
    extra_specs, image = request.extra_specs, request.image
    return extra_specs.get(f"hw:{key}") if extra_specs else None, (
        image.get("properties", {}).get(f"hw_{key}") if image else None
    )


def _conflict(key: str, own: Any, other: Any) -> errors.InvalidSpec:
    return errors.InvalidSpec(
        why=f"the flavor's extra spec hw:{key} is {own!r} and the image's property hw_{key} {other!r}: they must agree"
    )
