# SPDX-License-Identifier: Apache-2.0
"""Delays imports that libraries make at their top level, and that a command rarely or never uses."""

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

# Modules that oslo's libraries import at their top level, and a client uses rarely or never.
DELAYED = frozenset(
    [
        "netaddr",  # checks addresses in options
        "oslo_utils.netutils",  # quotes IPv6 addresses
        "oslo_utils.strutils",  # compiles 70 regular expressions to mask passwords
        "psutil",
        "rfc3986",  # checks URIs in options
        "xmlrpc.client",  # serializes dates of XML-RPC
    ]
)


class _DelayingFinder:
    """Finds the modules in DELAYED; each is executed at the first access to one of its attributes."""

    @staticmethod
    def find_spec(fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname not in DELAYED:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


def install() -> None:
    """Delay the modules in DELAYED for the whole process; their first use must not be by two threads at once."""
    sys.meta_path.insert(0, _DelayingFinder)
