# SPDX-License-Identifier: Apache-2.0
"""The locked wheels for one Python, for packages and images built without a network."""

import tempfile
from pathlib import Path

from devstack.deploy.packaging.programs import run


def download(folder: Path, lock: Path, python: str | Path) -> None:
    """Download the wheels for ``python`` into a folder, checked against the lock's hashes."""
    with tempfile.TemporaryDirectory() as tools:
        run(python, "-m", "venv", tools)
        run(
            *(Path(tools) / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--no-input"),
            *("download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes"),
            *("--requirement", lock, "--dest", folder),
        )
