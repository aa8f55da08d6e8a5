# SPDX-License-Identifier: Apache-2.0
"""Filter by image architecture, hypervisor type, version and VM mode: Nova's ImagePropertiesFilter."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oslo_utils import versionutils

from scheduler_svc.core.matching.options import DEFAULTS, FilterOptions
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.namespaces.compute import MAX_VERSION
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "ImagePropertiesFilter"
REASON = "image properties"

# Alias -> canonical name.
_ARCHITECTURES = {
    **dict.fromkeys(("i386", "i486", "i586", "x86_32", "x86_32p"), "i686"),
    "amd64": "x86_64",
}
_TYPES = {"xapi": "xen"}
_MODES = {"pv": "xen", "hv": "hvm", "baremetal": "hvm"}


@dataclass(frozen=True, slots=True)
class RequiredImageProperties:
    """Requirements of an image. One entry of the host's ``supported_instances`` must contain all ``kinds``."""

    kinds: tuple[str, ...]
    version: str
    address_bits: float  # infinite if the image has more digits than a number may have

    def supported_by(self, facts: Mapping[str, Any]) -> bool:
        """Return whether a host with these facts can run the image. Missing version or CPU facts are not checked."""
        supported = facts.get("supported_instances") or ()
        return (
            any(set(self.kinds) <= set(entry) for entry in supported)
            and self._version_matches(facts.get("hypervisor_version"))
            and self._address_size_matches(facts.get("cpu_info"))
        )

    def _version_matches(self, version: int | None) -> bool:
        if not (self.version and version):
            return True
        if not 0 < version <= MAX_VERSION:  # converting a negative or infinite number would not terminate
            return False
        try:
            text = versionutils.convert_version_to_str(version)
            return versionutils.VersionPredicate(self.version).satisfied_by(text)
        except ValueError:  # the image's value is not a version
            return False

    def _address_size_matches(self, cpu_info: Mapping[str, Any] | None) -> bool:
        bits = (cpu_info or {}).get("maxphysaddr", {}).get("bits")
        return not self.address_bits or not bits or bits >= self.address_bits


def build(options: FilterOptions = DEFAULTS) -> Filter:
    """Build the filter. ``options.default_architecture`` applies to images without an architecture."""

    def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
        """Accept hosts that support the image. Images without architecture, type and mode run on all hosts."""
        required = _required_properties(request.image.get("properties", {}), options.default_architecture)
        if required.kinds:
            yield HostPredicate(REASON, view.facts.where(required.supported_by, (NAME, required)))

    return Filter(NAME, predicates, {"compute": frozenset({"facts"})}, reasons=(REASON,))


def _required_properties(properties: Mapping[str, Any], architecture: str) -> RequiredImageProperties:
    properties_with_aliases = (
        (properties.get("hw_architecture", architecture), _ARCHITECTURES),
        (properties.get("img_hv_type"), _TYPES),
        (properties.get("hw_vm_mode"), _MODES),
    )
    kinds = tuple(
        aliases.get(str(kind).lower(), str(kind).lower()) for kind, aliases in properties_with_aliases if kind
    )
    bits = str(properties.get("hw_maxphysaddr_bits"))
    return RequiredImageProperties(
        kinds,
        str(properties.get("img_hv_requested_version") or ""),
        float(bits) if bits.isdecimal() else 0,
    )
