# SPDX-License-Identifier: Apache-2.0
"""Failing examples of state machines, kept as lists of steps and replayed before new ones.

An example is kept as a list of rules with their arguments, because an entry of Hypothesis' database is lost with each
change of its machine's source, and nobody can read it.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.support import CHECKOUT

Step = tuple[str, dict[str, Any]]  # a rule's name and its arguments

VARIABLE = "GANTT_TEST_CORPUS"
DEFAULT = CHECKOUT / "tests" / "property" / "corpus"


def folder_of(machine: type) -> Path:
    """Return the folder of a machine's examples, by its name."""
    return Path(os.environ.get(VARIABLE, DEFAULT)) / machine.__name__


def read(machine: type) -> Iterator[tuple[Path, list[Step]]]:
    """Yield the kept examples of a machine in the order of their names."""
    for path in sorted(folder_of(machine).glob("*.json")):
        yield path, [(name, arguments) for name, arguments in json.loads(path.read_text())]


def keep(machine: type, steps: Sequence[Step]) -> Path:
    """Write an example into a file named by its contents, one step a line; return its path. Raises OSError."""
    text = "[\n" + ",\n".join(json.dumps(step) for step in steps) + "\n]\n"
    folder = folder_of(machine)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    path.write_text(text)
    return path


def as_text(machine: type, steps: Sequence[Step]) -> str:
    """Return the steps as Python, as Hypothesis prints them."""
    calls = [
        f"state.{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
        for name, arguments in steps
    ]
    return "\n".join([f"state = {machine.__name__}()", *calls, "state.teardown()"])
