# SPDX-License-Identifier: Apache-2.0
"""Execution of the programs that build and check packages."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


class PackagingError(Exception):
    """Raised when a part of a release cannot be built or is not fit for release."""


SECONDS = 1800.0
SHOWN_LINES = 40
HIDDEN = ("PYTHONHOME", "PYTHONPATH")  # variables that programs do not get


def run(
    *command: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, seconds: float = SECONDS
) -> str:
    """Run a program without PYTHONPATH, which pip would search; return its output. Raises PackagingError on failure."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(  # noqa: S603 - the callers' own commands
            words,
            cwd=cwd,
            env={name: value for name, value in os.environ.items() if name not in HIDDEN} | dict(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
    except FileNotFoundError as missing:
        raise PackagingError(f"{words[0]} is not installed: {missing}") from None
    except subprocess.TimeoutExpired:
        raise PackagingError(f"`{' '.join(words)}` did not end within {seconds:.0f} s") from None
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()[-SHOWN_LINES:]
        raise PackagingError("\n".join([f"`{' '.join(words)}` ended with status {done.returncode}:", *lines]))
    return done.stdout
