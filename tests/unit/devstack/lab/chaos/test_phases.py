# SPDX-License-Identifier: Apache-2.0
"""Each live phase names a method that exists in its daemon."""

import importlib

import pytest

from devstack.lab.chaos.daemon import PHASES, Phase


@pytest.mark.parametrize("target", sorted({phase.target for phases in PHASES.values() for phase in phases}))
def test_target_exists(target: str) -> None:
    module, _, path = target.partition(":")
    owner, _, method = path.partition(".")
    assert callable(getattr(getattr(importlib.import_module(module), owner), method))


def test_name() -> None:
    assert Phase("a.b:C.d", True).name == "after C.d"
    assert Phase("a.b:C.d", False, "prepare").name == "before C.d(prepare)"
