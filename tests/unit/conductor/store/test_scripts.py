# SPDX-License-Identifier: Apache-2.0
"""Static checks of the conductors' Lua scripts: declared keys and documented headers."""

import re
from importlib.resources import files

import pytest

from conductor.store.keys import KEYS
from conductor.store.scripts import load

FOLDER = files("conductor.store").joinpath("lua")
VERBS = sorted(name.removesuffix(".lua") for name in (path.name for path in FOLDER.iterdir()) if name[0] not in "_.")


@pytest.mark.parametrize("name", VERBS)
def test_declared_keys_are_the_used_keys(name: str) -> None:
    script = load(name)
    assert set(re.findall(r"\bK\.(\w+)", script.text)) == set(script.words) <= set(KEYS)
    assert re.search(r"\bKEYS\b", script.text.partition("\n")[2]) is None


@pytest.mark.parametrize("name", VERBS)
def test_declared_arguments_are_the_used_arguments(name: str) -> None:
    script = load(name)
    assert set(re.findall(r"\bA\.(\w+)", script.text)) == set(script.args)
    assert re.search(r"\bARGV\[\d", script.text.split("\n", 2)[2]) is None


@pytest.mark.parametrize("name", VERBS)
def test_header_documents_arguments_and_result(name: str) -> None:
    head = FOLDER.joinpath(f"{name}.lua").read_text("utf-8").partition("\n--@")[0]
    assert head.startswith("-- SPDX-License-Identifier: Apache-2.0\n")
    assert "-- ARGV: " in head and "-- Returns: " in head
