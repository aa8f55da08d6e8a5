# SPDX-License-Identifier: Apache-2.0
"""Names below ``placement`` and ``nova`` in the layers of scheduler_svc; import contracts check the imports."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import scheduler_svc

ROOT = Path(scheduler_svc.__file__).parent
PACKAGES = ("core", "store", "replication", "host_state", "notifications", "scheduling")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
NOVA = re.compile("nova(?!lid)", re.IGNORECASE)  # not NoValidHost


def words(tree: ast.AST) -> Iterator[str]:
    """Yield identifiers and texts of a module, except docstrings, which may cite the source of a rule."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            body[0].value = ast.Constant(None)
        for field in ("id", "attr", "arg", "name", "asname", "module", "value"):
            word = getattr(node, field, None)
            if isinstance(word, str):
                yield word


def test_some_files_are_read():
    assert len(FILES) > 100


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_name_or_text_is_novas(path):
    candidates = (str(path.relative_to(ROOT)), *words(ast.parse(path.read_text())))
    assert not {word for word in candidates if NOVA.search(word)}
