# SPDX-License-Identifier: Apache-2.0
"""Delays imports that libraries make at their top level, and that a command rarely or never uses."""

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader
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

# Packages of which a client uses no name, only modules below them: redis-py imports its asynchronous half at its top
# level, a quarter of a command's time.
BARE = frozenset(["redis.asyncio"])


class _BareLoader(Loader):
    """Makes a package that has modules, but no names of its own."""

    def exec_module(self, module: ModuleType) -> None:
        """Skip the code of the package."""


class _DelayingFinder:
    """Finds the modules in DELAYED, each executed at the first access to one of its attributes, and those in BARE."""

    @staticmethod
    def find_spec(fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname not in DELAYED | BARE:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _BareLoader() if fullname in BARE else importlib.util.LazyLoader(spec.loader)
        return spec


def install() -> None:
    """Delay DELAYED, and skip the code of BARE, in the whole process; no first use may be by two threads at once."""
    sys.meta_path.insert(0, _DelayingFinder)
