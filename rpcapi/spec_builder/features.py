# SPDX-License-Identifier: Apache-2.0
"""Guest features that become required traits, as in Nova: firmware, processor and memory."""

import os_resource_classes as orc
import os_traits as ot

from rpcapi.spec_builder.draft import FlavorImageProperties, SpecDraft
from rpcapi.spec_builder.images import NO_IMAGE

ENCRYPTED = {
    "amd-sev": ot.HW_CPU_X86_AMD_SEV,
    "amd-sev-es": ot.HW_CPU_X86_AMD_SEV_ES,
    "amd-sev-snp": ot.HW_CPU_X86_AMD_SEV_SNP,
    "intel-tdx": ot.HW_CPU_X86_INTEL_TDX,
}
TPM_VERSIONS = {"1.2": ot.COMPUTE_SECURITY_TPM_1_2, "2.0": ot.COMPUTE_SECURITY_TPM_2_0}
TPM_MODELS = {"tpm-tis": ot.COMPUTE_SECURITY_TPM_TIS, "tpm-crb": ot.COMPUTE_SECURITY_TPM_CRB}
ADDRESS_SPACES = {"passthrough": ot.COMPUTE_ADDRESS_SPACE_PASSTHROUGH, "emulate": ot.COMPUTE_ADDRESS_SPACE_EMULATED}
SECURE_BOOT = ("required", "disabled", "optional")
UEFI = "uefi"


def translate(flavor_image: FlavorImageProperties, draft: SpecDraft) -> None:
    """Add the amounts and traits of the requested features; raises InvalidSpec."""
    _memory_encryption(flavor_image, draft)
    for label in persistent_memory(flavor_image):
        draft.add_amount(orc.normalize_name(f"PMEM_NAMESPACE_{label}"), 1)
    _tpm(flavor_image, draft)
    if flavor_image.value("secure_boot", SECURE_BOOT, prefix="os") == "required":
        draft.add_trait(ot.COMPUTE_SECURITY_UEFI_SECURE_BOOT)
    address_space = flavor_image.value("maxphysaddr_mode", ADDRESS_SPACES)
    if address_space is not None:
        draft.add_trait(ADDRESS_SPACES[address_space])
    if flavor_image.image_value("firmware_type") == UEFI and flavor_image.flag("firmware_stateless"):
        draft.add_trait(ot.COMPUTE_SECURITY_STATELESS_FIRMWARE)


def persistent_memory(flavor_image: FlavorImageProperties) -> list[str]:
    return [label for part in (flavor_image.flavor_value("pmem") or "").split(",") if (label := part.strip())]


def _memory_encryption(flavor_image: FlavorImageProperties, draft: SpecDraft) -> None:
    if not flavor_image.flag("mem_encryption"):
        return
    model = flavor_image.value("mem_encryption_model", ENCRYPTED) or "amd-sev"
    if flavor_image.image != NO_IMAGE and flavor_image.image_value("firmware_type") != UEFI:
        raise flavor_image.invalid("hw:mem_encryption", f"needs an image with hw_firmware_type={UEFI}")
    draft.add_amount(orc.MEM_ENCRYPTION_CONTEXT, 1)
    draft.add_trait(ENCRYPTED[model])


def _tpm(flavor_image: FlavorImageProperties, draft: SpecDraft) -> None:
    version = flavor_image.value("tpm_version", TPM_VERSIONS)
    if version is None:
        return
    model = flavor_image.value("tpm_model", TPM_MODELS) or "tpm-tis"
    if model == "tpm-crb" and version != "2.0":
        raise flavor_image.invalid("hw:tpm_model", "is tpm-crb, which needs hw:tpm_version 2.0")
    draft.add_trait(TPM_MODELS[model])
    draft.add_trait(TPM_VERSIONS[version])
