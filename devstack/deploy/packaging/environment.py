# SPDX-License-Identifier: Apache-2.0
"""Virtual environment with exactly the locked packages and gantt's wheel."""

import sys
from pathlib import Path

from devstack.deploy.packaging.programs import PackagingError, run

PROGRAMS = ("gantt", "gantt-scheduler", "gantt-conductor", "gantt-compute", "gantt-placement", "gantt-dashboard")


def create(folder: Path, wheel: Path, lock: Path, python: str | Path = sys.executable) -> str:
    """Create the environment, check all hashes of the lock, start gantt's programs, and return a summary."""
    run(python, "-m", "venv", folder)
    pip = (folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--no-input")
    run(*pip, "install", "--quiet", "--require-hashes", "--requirement", lock)
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel)
    run(*pip, "check")
    version = run(folder / "bin" / "python", "-c", "from rpcapi import version; print(version.installed_version())")
    for program in PROGRAMS:
        answer = run(folder / "bin" / program, "--version").strip()
        if not answer.endswith(version.strip()):
            raise PackagingError(f"{program} --version printed {answer!r}, and the wheel is of {version.strip()}")
    count = len(run(*pip, "list", "--format=freeze").splitlines())
    return f"{count} packages; {', '.join(PROGRAMS)} start"
