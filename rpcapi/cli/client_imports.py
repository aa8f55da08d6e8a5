# SPDX-License-Identifier: Apache-2.0
"""Imports oslo.messaging for a process that only calls services, at half the cost."""

import contextlib
import importlib
import logging
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType


def import_messaging() -> None:
    """Import oslo.messaging without what only a server needs; call it before anything else imports it.

    oslo.messaging's server class derives from oslo.service's, whose module brings eventlet or cotyledon; its metrics
    module brings oslo.log, which only a daemon configures. During the import they are the abstract class, no eventlet,
    and the standard library's logging. Later imports in this process get the real modules.
    """
    if "oslo_messaging" in sys.modules:
        return
    from oslo_service.backend import base  # noqa: PLC0415 - only here

    substitutes = {"eventlet": None, "oslo_service.service": base, "oslo_log.log": logging}
    with _substituted_modules(substitutes):
        importlib.import_module("oslo_messaging")


@contextlib.contextmanager
def _substituted_modules(substitutes: Mapping[str, ModuleType | None]) -> Iterator[None]:
    """Substitute modules that are not imported yet; None makes the import of a module fail."""
    substitutes = {name: module for name, module in substitutes.items() if name not in sys.modules}
    modules: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment]
    modules.update(substitutes)
    try:
        yield
    finally:
        for name in substitutes:
            del sys.modules[name]
