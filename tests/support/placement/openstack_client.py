# SPDX-License-Identifier: Apache-2.0
"""OpenStack's command line client, which this project does not install."""

import os
from pathlib import Path

PROGRAM = "GANTT_OPENSTACK"  # environment variable with the path of the program


def client_environment(home: Path) -> dict[str, str]:
    """Return the environment in which the client's programs are found, without variables of another cloud."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OS_", "PYTHON"))}
    path = f"{Path(os.environ[PROGRAM]).parent}:{environment['PATH']}"
    return environment | {"PATH": path, "HOME": str(home)}
