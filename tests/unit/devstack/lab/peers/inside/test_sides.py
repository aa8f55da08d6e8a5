# SPDX-License-Identifier: Apache-2.0
"""The programs that run inside the peers' environments, which this environment lacks."""

import ast
from pathlib import Path

import pytest

from devstack.lab.peers import side

TESTS = Path(__file__).parents[5]
FOLDERS = (side.INSIDE, TESTS / "differential" / "inside", TESTS / "nova" / "inside")
PROGRAMS = sorted(path for folder in FOLDERS for path in folder.glob("*.py"))
MODULES = {path.stem: ast.parse(path.read_text()) for path in PROGRAMS if path.stem != "__init__"}


def defined(tree):
    names = set()
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.ImportFrom | ast.Import):
            names |= {entry.id for entry in ast.walk(statement) if isinstance(entry, ast.Name)}
            names |= {alias.asname or alias.name for alias in getattr(statement, "names", [])}
    return names


@pytest.mark.parametrize("name", MODULES)
def test_names_imported_from_another_program_exist_there(name):
    for statement in ast.walk(MODULES[name]):
        if isinstance(statement, ast.ImportFrom) and statement.module in MODULES:
            assert {alias.name for alias in statement.names} <= defined(MODULES[statement.module])


@pytest.mark.parametrize("name", MODULES)
def test_program_imports_nothing_of_gantt(name):
    for statement in ast.walk(MODULES[name]):
        modules = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []
        modules += [statement.module or ""] if isinstance(statement, ast.ImportFrom) else []
        roots = {module.partition(".")[0] for module in modules}
        assert not roots & {"rpcapi", "scheduler_svc", "conductor", "compute_agent", "devstack"}


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("nova_") and name.endswith("_side")])
def test_eventlet_is_not_patched_before_nova_is_imported(name):
    body = MODULES[name].body
    patched = next(
        number for number, statement in enumerate(body) if "OS_NOVA_DISABLE_EVENTLET_PATCHING" in ast.dump(statement)
    )
    nova = [
        number
        for number, statement in enumerate(body)
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").partition(".")[0] == "nova"
    ]
    assert patched < min(nova)
