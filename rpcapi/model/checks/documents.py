# SPDX-License-Identifier: Apache-2.0
"""What a request carries of flavor and image as it was given, for filters that read it."""

from typing import Any

from rpcapi.model.checks.text import MAX_TEXT, check_keys, check_mapping, check_size, check_text, refuse, shown

MAX_KEYS = 200  # extra specs, and image properties
MAX_BYTES = 32 * 1024  # of each as JSON
IMAGE_KEYS = ("id", "name", "disk_format", "properties")


def check_extra_specs(told: Any) -> None:
    """Raise InvalidSpec unless the extra specs map texts to texts."""
    _texts("the extra specs", told)


def check_image(told: Any) -> None:
    """Raise InvalidSpec unless an image is {} or {"id", "name", "disk_format", "properties": {text: text}}."""
    check_keys("the image", told, IMAGE_KEYS)
    for key in ("id", "name", "disk_format"):
        check_text(f"image's {key}", told.get(key))
    _texts("the image's properties", told.get("properties", {}))


def _texts(what: str, told: Any) -> None:
    check_mapping(what, told, MAX_KEYS)
    for key, value in told.items():
        if not 1 <= len(key) <= MAX_TEXT:
            raise refuse(f"a key of {what} must have 1 to {MAX_TEXT} characters, not {len(key)}")
        if not isinstance(value, str):
            raise refuse(f"{shown(key)} of {what} must be a text, not {shown(value)}")
    check_size(what, told, MAX_BYTES)
