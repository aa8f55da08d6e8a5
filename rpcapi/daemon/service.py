# SPDX-License-Identifier: Apache-2.0
"""What a worker process runs: the protocol between the frame and a service."""

import importlib
from collections.abc import Callable
from typing import Protocol

from oslo_config import cfg


class Service(Protocol):
    """One worker's service; the package's docstring says what each call owes."""

    def start(self) -> None:
        """Begin to serve; return when requests are really taken."""

    def stop(self) -> None:
        """Begin the drain: take nothing new, finish what is in flight."""

    def wait(self) -> None:
        """Return when the drain is over."""

    def reset(self) -> None:
        """Use the mutable options as they are now."""


Factory = Callable[[cfg.ConfigOpts, int], Service]


def load_factory(name: str) -> Factory:
    """Import ``package.module:function``; only a worker calls it, the master must not import a service."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)
