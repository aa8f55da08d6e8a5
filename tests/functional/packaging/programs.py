# SPDX-License-Identifier: Apache-2.0
"""Programs that tests of packages need from Debian's packages."""

import os
import shutil
from collections.abc import Mapping

import pytest


def need_programs(programs: Mapping[str, str]) -> None:
    """Skip, or fail in CI, unless these programs are there; each is named with Debian's package that has it."""
    absent = sorted({package for program, package in programs.items() if not shutil.which(program)})
    if not absent:
        return
    why = f"A PROGRAM IS MISSING: apt-get install {' '.join(absent)}"
    if os.environ.get("CI") == "true":
        pytest.fail(why, pytrace=False)
    pytest.skip(why)
