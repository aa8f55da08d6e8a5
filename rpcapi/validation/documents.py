# SPDX-License-Identifier: Apache-2.0
"""Validation of extra specs and image, which a request carries for filters."""

from typing import Any

from rpcapi.validation.text import MAX_TEXT, abbreviate, check_keys, check_mapping, check_size, check_text, invalid_spec

MAX_KEYS = 200  # of the extra specs, and of the image properties
MAX_BYTES = 32 * 1024  # of the extra specs, and of the image properties, as JSON
IMAGE_KEYS = ("id", "name", "disk_format", "properties")


def check_extra_specs(extra_specs: Any) -> None:
    _texts("the extra specs", extra_specs)


def check_image(image: Any) -> None:
    """Raise InvalidSpec unless ``image`` is {} or {"id", "name", "disk_format", "properties": {str: str}}."""
    check_keys("the image", image, IMAGE_KEYS)
    for key in ("id", "name", "disk_format"):
        check_text(f"image {key}", image.get(key))
    _texts("the image properties", image.get("properties", {}))


def _texts(label: str, mapping: Any) -> None:
    check_mapping(label, mapping, MAX_KEYS)
    for key, value in mapping.items():
        if not 1 <= len(key) <= MAX_TEXT:
            raise invalid_spec(f"a key of {label} must have 1 to {MAX_TEXT} characters, not {len(key)}")
        if not isinstance(value, str):
            raise invalid_spec(f"{abbreviate(key)} of {label} must be a string, not {abbreviate(value)}")
    check_size(label, mapping, MAX_BYTES)
