# SPDX-License-Identifier: Apache-2.0
"""Loads a peer's program with fakes in place of the peer's modules, which this environment lacks."""

import importlib.util
import sys
from types import ModuleType, SimpleNamespace
from unittest import mock

import pytest

from devstack.lab.peers.side import INSIDE


class FakeModule(ModuleType):
    """A module in which every name is a fake."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = mock.MagicMock(name=name)
        setattr(self, name, value)
        return value


def record(**values):
    """Return an object with these attributes, in place of one of the peer's."""
    return SimpleNamespace(**values)


def load(monkeypatch: pytest.MonkeyPatch, program: str, *modules: str) -> ModuleType:
    """Return the program as a module; ``modules`` and their packages are fakes."""
    for name in (*modules, "peer_wire"):
        parts = name.split(".")
        for length in range(1, len(parts) + 1):
            package = ".".join(parts[:length])
            if not isinstance(sys.modules.get(package), FakeModule):
                fake = FakeModule(package)
                fake.__path__ = []
                monkeypatch.setitem(sys.modules, package, fake)
        for length in range(2, len(parts) + 1):
            setattr(
                sys.modules[".".join(parts[: length - 1])], parts[length - 1], sys.modules[".".join(parts[:length])]
            )
    monkeypatch.setenv("OS_NOVA_DISABLE_EVENTLET_PATCHING", "1")
    spec = importlib.util.spec_from_file_location(f"fake_{program}", INSIDE / f"{program}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
