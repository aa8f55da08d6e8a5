# SPDX-License-Identifier: Apache-2.0
"""docs/glossary.md names only what exists."""

import ast
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"


def rows():
    """(concept, references) of each table row with the four columns of concepts."""
    for line in GLOSSARY.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 4 and cells[0] != "concept" and not cells[0].startswith("---"):
            yield cells[0], re.findall(r"`([^`]+)`", cells[2])


def members(body):
    """Names that the statements of a module or class define, with the statements of nested classes."""
    for statement in body:
        match statement:
            case ast.ClassDef():
                yield statement.name, statement.body
            case ast.FunctionDef():
                yield statement.name, []
            case ast.Assign():
                yield from ((target.id, []) for target in statement.targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name, []


def source_of(module):
    path = ROOT.joinpath(*module)
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def exists(reference):
    """Whether a path, or a dotted name of a module, class or member, is in the tree. Nothing is imported."""
    if "/" in reference:
        return (ROOT / reference).exists()
    names = reference.split(".")
    length = next((size for size in range(len(names), 0, -1) if source_of(names[:size])), 0)
    if not length:
        return False
    body = ast.parse(source_of(names[:length]).read_text()).body
    for name in names[length:]:
        definitions = dict(members(body))
        if name not in definitions:
            return False
        body = definitions[name]
    return True


@pytest.mark.parametrize(("concept", "references"), list(rows()))
def test_classes_and_modules_of_the_glossary_exist(concept, references):
    assert references, f"{concept}: name a class or module"
    missing = [reference for reference in references if not exists(reference)]
    assert not missing, f"{concept}: correct the row in docs/glossary.md"


def test_each_concept_has_one_row():
    concepts = [concept for concept, _ in rows()]
    assert len(concepts) > 200
    assert sorted({concept for concept in concepts if concepts.count(concept) > 1}) == []


@pytest.mark.parametrize("reference", ["scheduler_svc.core.nothing", "rpcapi.errors.NoSuchError", "rpcapi/nothing"])
def test_missing_names_are_noticed(reference):
    assert not exists(reference)
