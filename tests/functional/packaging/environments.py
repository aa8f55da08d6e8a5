# SPDX-License-Identifier: Apache-2.0
"""Virtual environments without anything of the one that runs the tests."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

SECONDS = 900.0


class CleanEnvironment(NamedTuple):
    """A virtual environment below ``folder``."""

    folder: Path

    def create(self) -> None:
        """Create it, with pip."""
        self._run(sys.executable, "-m", "venv", str(self.folder))

    def pip(self, *arguments: str | Path) -> str:
        """Run its pip; return what it prints, raises AssertionError when it fails."""
        return self.run("pip", "--disable-pip-version-check", "--no-input", *map(str, arguments))

    def run(self, program: str, *arguments: str) -> str:
        """Run one of its programs; return what it prints, raises AssertionError when it fails."""
        return self._run(str(self.folder / "bin" / program), *arguments)

    def _run(self, *command: str) -> str:
        variables = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
        }
        done = subprocess.run(
            command,
            env={**variables, "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin"},
            cwd=self.folder.parent,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout
