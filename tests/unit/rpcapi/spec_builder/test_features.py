# SPDX-License-Identifier: Apache-2.0
"""Guest features that become required traits or resources."""

import pytest

from rpcapi import errors
from tests.unit.rpcapi.spec_builder.plain_request import DISK, PLAIN, SINGLE_CELL, numa, request

# (extra specs, image properties, fields of the spec)
EXAMPLES = {
    "encrypted memory": (
        {"hw:mem_encryption": "true"},
        {"hw_firmware_type": "uefi"},
        {"resources": PLAIN | {"MEM_ENCRYPTION_CONTEXT": 1}, "required_traits": ["HW_CPU_X86_AMD_SEV"]},
    ),
    "a TPM": (
        {"hw:tpm_version": "2.0", "hw:tpm_model": "tpm-crb"},
        {"hw_tpm_version": "2.0"},
        {"required_traits": ["COMPUTE_SECURITY_TPM_CRB", "COMPUTE_SECURITY_TPM_2_0"]},
    ),
    "secure boot": ({}, {"os_secure_boot": "required"}, {"required_traits": ["COMPUTE_SECURITY_UEFI_SECURE_BOOT"]}),
    "secure boot as it comes": ({"os:secure_boot": "optional"}, {}, {"required_traits": []}),
    "persistent memory": (
        {"hw:pmem": "6GB, 6GB,16GB"},
        {},
        {
            "resources": DISK | {"CUSTOM_PMEM_NAMESPACE_6GB": 2, "CUSTOM_PMEM_NAMESPACE_16GB": 1},
            "numa": numa(SINGLE_CELL),
        },
    ),
    "an address space": (
        {"hw:maxphysaddr_mode": "emulate"},
        {},
        {"required_traits": ["COMPUTE_ADDRESS_SPACE_EMULATED"]},
    ),
    "firmware without state": (
        {},
        {"hw_firmware_type": "uefi", "hw_firmware_stateless": "yes"},
        {"required_traits": ["COMPUTE_SECURITY_STATELESS_FIRMWARE"]},
    ),
    "firmware that is no UEFI": ({}, {"hw_firmware_stateless": "yes"}, {"required_traits": []}),
}

CONTRADICTIONS = [
    ({"hw:mem_encryption": "true"}, {}, "needs an image with hw_firmware_type=uefi"),
    ({"hw:mem_encryption": "true"}, {"hw_mem_encryption": "false"}, "the flavor does not allow this image value"),
    ({"hw:mem_encryption": "true", "hw:mem_encryption_model": "rot13"}, {"hw_firmware_type": "uefi"}, "must be one of"),
    ({"hw:tpm_version": "1.2", "hw:tpm_model": "tpm-crb"}, {}, "needs hw:tpm_version 2.0"),
    ({"os:secure_boot": "maybe"}, {}, "must be one of required, disabled, optional"),
]


@pytest.mark.parametrize(("extra_specs", "properties", "fields"), EXAMPLES.values(), ids=EXAMPLES)
def test_feature_is_translated_to_the_expected_fields(extra_specs, properties, fields):
    spec = request(extra_specs, properties)
    assert {name: getattr(spec, name) for name in fields} == fields


@pytest.mark.parametrize(("extra_specs", "properties", "sentence"), CONTRADICTIONS)
def test_contradiction_is_refused_with_the_reason(extra_specs, properties, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request(extra_specs, properties)
    assert sentence in caught.value.sentence
