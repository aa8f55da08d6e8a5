# SPDX-License-Identifier: Apache-2.0
"""Prefilters that require traits of the root provider, as Nova's prefilters of images and devices do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import os_traits
from oslo_utils import strutils

from rpcapi import errors
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.aggregates import AggregateView


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


ENCRYPTION = "COMPUTE_EPHEMERAL_ENCRYPTION"
TPM_SECRET = "COMPUTE_SECURITY_TPM_SECRET_SECURITY"  # noqa: S105 - the name of a trait
# Image property -> prefix of the trait for its value.
PREFIXES: Mapping[str, str] = {
    "hw_cdrom_bus": "COMPUTE_STORAGE_BUS",
    "hw_disk_bus": "COMPUTE_STORAGE_BUS",
    "hw_video_model": "COMPUTE_GRAPHICS_MODEL",
    "hw_vif_model": "COMPUTE_NET_VIF_MODEL",
    "hw_architecture": "HW_ARCH",
    "hw_emulation_architecture": "COMPUTE_ARCH",
    "hw_viommu_model": "COMPUTE_VIOMMU",
}


def require_traits(request: SchedulingRequest, *traits: str) -> SchedulingRequest:
    added = tuple(trait for trait in dict.fromkeys(traits) if trait not in request.root_required)
    return replace(request, root_required=(*request.root_required, *added)) if added else request


def find_standard_trait(name: str) -> str | None:
    return name if hasattr(os_traits, name) else None


def _build(name: str, find_traits: Callable[[SchedulingRequest], Sequence[str]]) -> Prefilter:
    def rewrite(request: SchedulingRequest, aggregates: AggregateView) -> SchedulingRequest:
        traits = find_traits(request)
        return require_traits(request, *traits) if traits else request

    return Prefilter(name, rewrite)


def _of_disk_format(request: SchedulingRequest) -> Sequence[str]:
    """Return the standard trait of the image's disk format. Without a format (volumes), require none."""
    disk_format = request.image.get("disk_format")
    trait = f"COMPUTE_IMAGE_TYPE_{disk_format.upper()}" if isinstance(disk_format, str) else ""
    return [trait] if find_standard_trait(trait) else []


def _of_image_properties(request: SchedulingRequest) -> Sequence[str]:
    """Return the trait of each property value. Like Nova, return none if any value lacks a standard trait."""
    properties = request.image.get("properties", {})
    traits = [
        f"{prefix}_{str(properties[key]).replace('-', '_').upper()}"
        for key, prefix in PREFIXES.items()
        if key in properties
    ]
    return traits if all(map(find_standard_trait, traits)) else []


def _of_encryption(request: SchedulingRequest) -> Sequence[str]:
    if not read_flag(request, "ephemeral_encryption"):
        return []
    value = read_text(request, "ephemeral_encryption_format")
    return [ENCRYPTION, *([_trait_of("ephemeral_encryption_format", ENCRYPTION, value)] if value else [])]


def _of_tpm_secrets(request: SchedulingRequest) -> Sequence[str]:
    """Return the trait of the flavor's TPM secret security (default "user") if the guest has a TPM."""
    if read_text(request, "tpm_version") is None:
        return []
    return [_trait_of("tpm_secret_security", TPM_SECRET, request.extra_specs.get("hw:tpm_secret_security") or "user")]


def _trait_of(key: str, prefix: str, value: str) -> str:
    trait = find_standard_trait(f"{prefix}_{value.upper()}")
    if trait is None:
        raise errors.InvalidSpec(why=f"hw:{key} is {value!r}, which has no standard trait {prefix}_...")
    return trait


IMAGE_TYPE = _build("require_image_type_support", _of_disk_format)
IMAGE_METADATA = _build("transform_image_metadata", _of_image_properties)
ACCELERATORS = _build(
    "accelerators_filter",
    lambda request: ["COMPUTE_ACCELERATORS"] if request.extra_specs.get("accel:device_profile") else [],
)
PACKED_VIRTQUEUE = _build(
    "packed_virtqueue_filter",
    lambda request: ["COMPUTE_NET_VIRTIO_PACKED"] if read_flag(request, "virtio_packed_ring") else [],
)
EPHEMERAL_ENCRYPTION = _build("ephemeral_encryption_filter", _of_encryption)
VIRTIO_SOUND = _build(
    "virtio_sound_filter",
    lambda request: ["COMPUTE_SOUND_MODEL_VIRTIO"] if read_text(request, "sound_model") == "virtio" else [],
)
TPM_SECRET_SECURITY = _build("tpm_secret_security_filter", _of_tpm_secrets)
