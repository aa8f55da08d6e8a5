# SPDX-License-Identifier: Apache-2.0
"""Software bill of materials of an environment, as CycloneDX."""

import json
import sys
import tempfile
from pathlib import Path

from devstack.deploy.packaging import lock
from devstack.deploy.packaging.distribution import Distribution
from devstack.deploy.packaging.programs import run

SPECIFICATION = "1.6"
# Project file from which cyclonedx-py reads the document's subject and dependencies.
SUBJECT = '[project]\nname = "gantt"\nversion = "{version}"\ndependencies = {dependencies}\n'


def write(environment: Path, built: Distribution, output: Path) -> None:
    names = sorted({item.name for item in lock.required(built.metadata.get_all("Requires-Dist", []))})
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "pyproject.toml"
        project.write_text(SUBJECT.format(version=built.version, dependencies=json.dumps(names)))
        run(
            *(sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject", project, "--mc-type", "application"),
            *("--spec-version", SPECIFICATION, "--output-format", "JSON", "--output-reproducible", "--validate"),
            *("--output-file", output, environment / "bin" / "python"),
        )
