# SPDX-License-Identifier: Apache-2.0
"""The bus's Lua scripts, one file per verb in `lua/`."""

from functools import cache
from pathlib import Path


@cache
def text(verb: str) -> str:
    """The script of this verb."""
    return (Path(__file__).parent / "lua" / f"{verb}.lua").read_text(encoding="utf-8")
