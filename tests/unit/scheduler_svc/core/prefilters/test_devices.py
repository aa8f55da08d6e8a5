# SPDX-License-Identifier: Apache-2.0
"""Traits for single devices that flavor or image request."""

import pytest

from rpcapi import errors
from scheduler_svc.core.prefilters import traits as devices
from tests.unit.scheduler_svc.core.prefilters.rewritten import aggregate_view, server_request

AGGREGATES = aggregate_view()


@pytest.mark.parametrize(
    ("prefilter", "extra_specs", "properties", "traits"),
    [
        (devices.PACKED_VIRTQUEUE, {"hw:virtio_packed_ring": "true"}, {}, ["COMPUTE_NET_VIRTIO_PACKED"]),
        (devices.PACKED_VIRTQUEUE, {}, {"hw_virtio_packed_ring": "yes"}, ["COMPUTE_NET_VIRTIO_PACKED"]),
        (devices.EPHEMERAL_ENCRYPTION, {"hw:ephemeral_encryption": "true"}, {}, ["COMPUTE_EPHEMERAL_ENCRYPTION"]),
        (
            devices.EPHEMERAL_ENCRYPTION,
            {"hw:ephemeral_encryption": "true"},
            {"hw_ephemeral_encryption_format": "luks"},
            ["COMPUTE_EPHEMERAL_ENCRYPTION", "COMPUTE_EPHEMERAL_ENCRYPTION_LUKS"],
        ),
        (devices.VIRTIO_SOUND, {"hw:sound_model": "virtio"}, {}, ["COMPUTE_SOUND_MODEL_VIRTIO"]),
        (devices.TPM_SECRET_SECURITY, {"hw:tpm_version": "2.0"}, {}, ["COMPUTE_SECURITY_TPM_SECRET_SECURITY_USER"]),
        (
            devices.TPM_SECRET_SECURITY,
            {"hw:tpm_secret_security": "host"},
            {"hw_tpm_version": "1.2"},
            ["COMPUTE_SECURITY_TPM_SECRET_SECURITY_HOST"],
        ),
    ],
)
def test_requested_device_requires_its_traits(prefilter, extra_specs, properties, traits):
    rewritten = prefilter.rewrite(server_request(extra_specs, properties), AGGREGATES)
    assert list(rewritten.root_required) == traits


@pytest.mark.parametrize(
    ("prefilter", "extra_specs"),
    [
        (devices.PACKED_VIRTQUEUE, {"hw:virtio_packed_ring": "false"}),
        # A format without encryption has no meaning.
        (devices.EPHEMERAL_ENCRYPTION, {"hw:ephemeral_encryption_format": "luks"}),
        (devices.VIRTIO_SOUND, {"hw:sound_model": "sb16"}),
        # The security of secrets matters to guests with a TPM only.
        (devices.TPM_SECRET_SECURITY, {"hw:tpm_secret_security": "host"}),
    ],
)
def test_request_without_the_device_is_not_rewritten(prefilter, extra_specs):
    for before in (server_request(), server_request(extra_specs)):
        assert prefilter.rewrite(before, AGGREGATES) is before


@pytest.mark.parametrize(
    ("prefilter", "extra_specs", "why"),
    [
        (
            devices.EPHEMERAL_ENCRYPTION,
            {"hw:ephemeral_encryption": "true", "hw:ephemeral_encryption_format": "rot13"},
            "hw:ephemeral_encryption_format is 'rot13'",
        ),
        (
            devices.TPM_SECRET_SECURITY,
            {"hw:tpm_version": "2.0", "hw:tpm_secret_security": "none"},
            "hw:tpm_secret_security is 'none'",
        ),
    ],
)
def test_value_without_a_standard_trait_is_refused(prefilter, extra_specs, why):
    with pytest.raises(errors.InvalidSpec, match=why):
        prefilter.rewrite(server_request(extra_specs), AGGREGATES)
