# SPDX-License-Identifier: Apache-2.0
"""Requires traits for devices that the flavor or image requests: Nova's prefilters for single devices."""

from rpcapi import errors
from scheduler_svc.core.prefilters import properties, traits
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.aggregates import AggregateView

ENCRYPTION = "COMPUTE_EPHEMERAL_ENCRYPTION"
TPM_SECRET = "COMPUTE_SECURITY_TPM_SECRET_SECURITY"  # noqa: S105 - the name of a trait
TPM_SECURITY = "hw:tpm_secret_security"


def packed_virtqueue(request: SchedulingRequest, aggregates: AggregateView) -> SchedulingRequest:
    """Require support for packed virtqueues if requested."""
    if properties.read_flag(request, "virtio_packed_ring"):
        return traits.require_traits(request, "COMPUTE_NET_VIRTIO_PACKED")
    return request


def ephemeral_encryption(request: SchedulingRequest, aggregates: AggregateView) -> SchedulingRequest:
    """Require ephemeral disk encryption if requested, in the requested format."""
    if not properties.read_flag(request, "ephemeral_encryption"):
        return request
    value = properties.read_text(request, "ephemeral_encryption_format")
    if not value:
        return traits.require_traits(request, ENCRYPTION)
    return traits.require_traits(request, ENCRYPTION, _standard_trait("ephemeral_encryption_format", ENCRYPTION, value))


def virtio_sound(request: SchedulingRequest, aggregates: AggregateView) -> SchedulingRequest:
    """Require support for a virtio sound device if requested."""
    if properties.read_text(request, "sound_model") == "virtio":
        return traits.require_traits(request, "COMPUTE_SOUND_MODEL_VIRTIO")
    return request


def tpm_secret_security(request: SchedulingRequest, aggregates: AggregateView) -> SchedulingRequest:
    """Require support for the flavor's TPM secret security; the default is "user"."""
    if properties.read_text(request, "tpm_version") is None:
        return request
    value = request.extra_specs.get(TPM_SECURITY) or "user"
    return traits.require_traits(request, _standard_trait("tpm_secret_security", TPM_SECRET, value))


def _standard_trait(key: str, prefix: str, value: str) -> str:
    trait = traits.find_standard_trait(f"{prefix}_{value.upper()}")
    if trait is None:
        raise errors.InvalidSpec(why=f"hw:{key} is {value!r}, which has no standard trait {prefix}_...")
    return trait


PACKED_VIRTQUEUE = Prefilter("packed_virtqueue_filter", packed_virtqueue)
EPHEMERAL_ENCRYPTION = Prefilter("ephemeral_encryption_filter", ephemeral_encryption)
VIRTIO_SOUND = Prefilter("virtio_sound_filter", virtio_sound)
TPM_SECRET_SECURITY = Prefilter("tpm_secret_security_filter", tpm_secret_security)
