# SPDX-License-Identifier: Apache-2.0
"""Imports of oslo.messaging's private modules."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[4]
PACKAGES = ("rpcapi", "scheduler_svc", "conductor", "compute_agent", "devstack")
ALLOWED = {"rpcapi/messaging/private.py", "rpcapi/messaging/private_rabbit.py"}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def is_private(name: str) -> bool:
    package, *parts = name.split(".")
    return package == "oslo_messaging" and any(part.startswith("_") for part in parts)


def test_two_modules_import_private_names_of_oslo_messaging() -> None:
    importers = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if any(map(is_private, imported(path)))
    }
    assert importers == ALLOWED
