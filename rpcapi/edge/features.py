# SPDX-License-Identifier: Apache-2.0
"""What guests ask of a host's firmware, processors and memory beside amounts: mostly a trait each. As in Nova."""

import os_resource_classes as orc
import os_traits as ot

from rpcapi.edge.asked import Asked
from rpcapi.edge.draft import Draft
from rpcapi.model.images import NO_IMAGE

ENCRYPTED = {
    "amd-sev": ot.HW_CPU_X86_AMD_SEV,
    "amd-sev-es": ot.HW_CPU_X86_AMD_SEV_ES,
    "amd-sev-snp": ot.HW_CPU_X86_AMD_SEV_SNP,
    "intel-tdx": ot.HW_CPU_X86_INTEL_TDX,
}
TPM_VERSIONS = {"1.2": ot.COMPUTE_SECURITY_TPM_1_2, "2.0": ot.COMPUTE_SECURITY_TPM_2_0}
TPM_MODELS = {"tpm-tis": ot.COMPUTE_SECURITY_TPM_TIS, "tpm-crb": ot.COMPUTE_SECURITY_TPM_CRB}
ADDRESS_SPACES = {
    "passthrough": ot.COMPUTE_ADDRESS_SPACE_PASSTHROUGH,
    "emulate": ot.COMPUTE_ADDRESS_SPACE_EMULATED,
}
SECURE_BOOT = ("required", "disabled", "optional")
UEFI = "uefi"


def translate(asked: Asked, draft: Draft) -> None:
    """Add memory encryption, persistent memory, TPM, secure boot, address space and firmware.

    Raises InvalidSpec for values that are none, and where flavor and image contradict each other.
    """
    _memory_encryption(asked, draft)
    for label in persistent_memory(asked):
        draft.amount(orc.normalize_name(f"PMEM_NAMESPACE_{label}"), 1)
    _tpm(asked, draft)
    if asked.one("secure_boot", SECURE_BOOT, prefix="os") == "required":
        draft.trait(ot.COMPUTE_SECURITY_UEFI_SECURE_BOOT)
    address_space = asked.one("maxphysaddr_mode", ADDRESS_SPACES)
    if address_space is not None:
        draft.trait(ADDRESS_SPACES[address_space])
    if asked.of_image("firmware_type") == UEFI and asked.flag("firmware_stateless"):
        draft.trait(ot.COMPUTE_SECURITY_STATELESS_FIRMWARE)


def persistent_memory(asked: Asked) -> list[str]:
    """Return the labels of the persistent memory namespaces that a flavor asks for."""
    return [label for each in (asked.of_flavor("pmem") or "").split(",") if (label := each.strip())]


def _memory_encryption(asked: Asked, draft: Draft) -> None:
    if not asked.flag("mem_encryption"):
        return
    model = asked.one("mem_encryption_model", ENCRYPTED) or "amd-sev"
    if asked.image is not NO_IMAGE and asked.of_image("firmware_type") != UEFI:
        raise asked.refuse("hw:mem_encryption", f"needs an image with hw_firmware_type={UEFI}")
    draft.amount(orc.MEM_ENCRYPTION_CONTEXT, 1)
    draft.trait(ENCRYPTED[model])


def _tpm(asked: Asked, draft: Draft) -> None:
    version = asked.one("tpm_version", TPM_VERSIONS)
    if version is None:
        return
    model = asked.one("tpm_model", TPM_MODELS) or "tpm-tis"
    if model == "tpm-crb" and version != "2.0":
        raise asked.refuse("hw:tpm_model", "is tpm-crb, which is for hw:tpm_version 2.0")
    draft.trait(TPM_MODELS[model])
    draft.trait(TPM_VERSIONS[version])
