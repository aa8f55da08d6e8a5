# SPDX-License-Identifier: Apache-2.0
"""Asks for hosts that can give a guest what its flavor or image wishes: Nova's prefilters of one device each."""

from rpcapi import errors
from scheduler_svc.prefilters import traits, wishes
from scheduler_svc.prefilters.prefilter import Prefilter
from scheduler_svc.request import Request
from scheduler_svc.table.aggregates import AggregatesSeen

ENCRYPTION = "COMPUTE_EPHEMERAL_ENCRYPTION"
TPM_SECRET = "COMPUTE_SECURITY_TPM_SECRET_SECURITY"  # noqa: S105 - the name of a trait
TPM_SECURITY = "hw:tpm_secret_security"


def packed_virtqueue(request: Request, aggregates: AggregatesSeen) -> Request:
    """Ask for packed virtqueues where they are wished for."""
    if wishes.flag(request, "virtio_packed_ring"):
        return traits.required(request, "COMPUTE_NET_VIRTIO_PACKED")
    return request


def ephemeral_encryption(request: Request, aggregates: AggregatesSeen) -> Request:
    """Ask for encryption of ephemeral disks, in the format that is wished for."""
    if not wishes.flag(request, "ephemeral_encryption"):
        return request
    wished = wishes.one(request, "ephemeral_encryption_format")
    if not wished:
        return traits.required(request, ENCRYPTION)
    return traits.required(request, ENCRYPTION, _known("ephemeral_encryption_format", ENCRYPTION, wished))


def virtio_sound(request: Request, aggregates: AggregatesSeen) -> Request:
    """Ask for a virtio sound device where it is wished for."""
    if wishes.one(request, "sound_model") == "virtio":
        return traits.required(request, "COMPUTE_SOUND_MODEL_VIRTIO")
    return request


def tpm_secret_security(request: Request, aggregates: AggregatesSeen) -> Request:
    """Ask for hosts that keep a TPM's secret as the flavor says: "user" where it says nothing."""
    if wishes.one(request, "tpm_version") is None:
        return request
    wished = request.extra_specs.get(TPM_SECURITY) or "user"
    return traits.required(request, _known("tpm_secret_security", TPM_SECRET, wished))


def _known(key: str, prefix: str, wished: str) -> str:
    trait = traits.standard(f"{prefix}_{wished.upper()}")
    if trait is None:
        raise errors.InvalidSpec(why=f"hw:{key} is {wished!r}, for which there is no trait {prefix}_...")
    return trait


PACKED_VIRTQUEUE = Prefilter("packed_virtqueue_filter", packed_virtqueue)
EPHEMERAL_ENCRYPTION = Prefilter("ephemeral_encryption_filter", ephemeral_encryption)
VIRTIO_SOUND = Prefilter("virtio_sound_filter", virtio_sound)
TPM_SECRET_SECURITY = Prefilter("tpm_secret_security_filter", tpm_secret_security)
