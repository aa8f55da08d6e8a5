# SPDX-License-Identifier: Apache-2.0
"""Programs that tests of packages need from Debian's packages, and modules that tox installs for them."""

import importlib
import os
import shutil
from collections.abc import Mapping
from types import ModuleType
from typing import NoReturn

import pytest


def need_programs(programs: Mapping[str, str]) -> None:
    """Skip, or fail in CI, unless these programs are there; each is named with Debian's package that has it."""
    absent = sorted({package for program, package in programs.items() if not shutil.which(program)})
    if absent:
        _miss(f"A PROGRAM IS MISSING: apt-get install {' '.join(absent)}")


def need_module(name: str) -> ModuleType:
    """Return a module that ``tox -e packages`` installs; skip, or fail in CI, where it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        _miss(f"A MODULE IS MISSING, which tox -e packages installs: {error}")


def _miss(why: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(why, pytrace=False)
    pytest.skip(why)
