# SPDX-License-Identifier: Apache-2.0
"""Download of the locked wheels, for packages and images that are built without a network."""

import tempfile
from pathlib import Path

from devstack.deploy.packaging.programs import run


def download(folder: Path, lock: Path, python: str | Path) -> None:
    with tempfile.TemporaryDirectory() as tools:
        run(python, "-m", "venv", tools)
        run(
            *(Path(tools) / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--no-input"),
            *("download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes"),
            *("--requirement", lock, "--dest", folder),
        )
