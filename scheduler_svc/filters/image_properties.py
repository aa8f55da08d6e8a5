# SPDX-License-Identifier: Apache-2.0
"""Can the host run the image: its architecture, hypervisor type and version, mode? Nova's ImagePropertiesFilter."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oslo_utils import versionutils

from scheduler_svc.filters.options import DEFAULTS, Options
from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAME = "ImagePropertiesFilter"
REASON = "image properties"

# Older names of the same.
_ARCHITECTURES = {
    **dict.fromkeys(("i386", "i486", "i586", "x86_32", "x86_32p"), "i686"),
    "amd64": "x86_64",
}
_TYPES = {"xapi": "xen"}
_MODES = {"pv": "xen", "hv": "hvm", "baremetal": "hvm"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an image wants of a host: ``kinds`` must all be in one entry of what it supports."""

    kinds: tuple[str, ...]
    version: str
    address_bits: int

    def by(self, facts: Mapping[str, Any]) -> bool:
        """Tell whether a host with these facts can run the image: by what it does not tell it is not judged."""
        supported = facts.get("supported_instances") or ()
        return (
            any(set(self.kinds) <= set(entry) for entry in supported)
            and self._right_version(facts.get("hypervisor_version"))
            and self._right_size(facts.get("cpu_info"))
        )

    def _right_version(self, version: Any) -> bool:
        if not (self.version and version):
            return True
        try:
            told = versionutils.convert_version_to_str(version)
            return versionutils.VersionPredicate(self.version).satisfied_by(told)
        except (TypeError, ValueError):
            return False

    def _right_size(self, cpu_info: Any) -> bool:
        told = cpu_info.get("maxphysaddr") if isinstance(cpu_info, Mapping) else None
        bits = told.get("bits") if isinstance(told, Mapping) else None
        return not self.address_bits or not bits or bits >= self.address_bits


def build(options: Options = DEFAULTS) -> Filter:
    """Return the filter; ``options.default_architecture`` is that of images which tell none."""

    def sieves(view: View, request: Request) -> Iterator[Sieve]:
        """Let hosts pass that support what the image says; all where it says neither architecture, type nor mode."""
        wanted = _wanted(request.image.get("properties", {}), options.default_architecture)
        if wanted.kinds:
            yield Sieve(REASON, view.facts.where(wanted.by, (NAME, wanted)))

    return Filter(NAME, sieves, {"compute": frozenset({"facts"})})


def _wanted(properties: Mapping[str, Any], architecture: str) -> Wanted:
    told = (
        (properties.get("hw_architecture", architecture), _ARCHITECTURES),
        (properties.get("img_hv_type"), _TYPES),
        (properties.get("hw_vm_mode"), _MODES),
    )
    kinds = tuple(older.get(str(kind).lower(), str(kind).lower()) for kind, older in told if kind)
    bits = str(properties.get("hw_maxphysaddr_bits"))
    return Wanted(
        kinds,
        str(properties.get("img_hv_requested_version") or ""),
        int(bits) if bits.isdecimal() else 0,
    )
