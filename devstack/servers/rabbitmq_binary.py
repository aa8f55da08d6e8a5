# SPDX-License-Identifier: Apache-2.0
"""Paths of RabbitMQ's server script and Erlang's port mapper in the distribution's packages."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from devstack.servers.errors import BinaryMissing
from devstack.servers.server import SYSTEM_PATH

# Not the wrapper in /usr/sbin, which requires user `rabbitmq` and the system's folders.
SERVER_SCRIPT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


@dataclass(frozen=True)
class RabbitPrograms:
    server: Path
    epmd: Path


def rabbit_programs() -> RabbitPrograms:
    epmd = shutil.which("epmd", path=SYSTEM_PATH)
    if epmd is None or not SERVER_SCRIPT.exists():
        raise BinaryMissing(
            "No RabbitMQ was found: install Debian's package (`apt-get install rabbitmq-server`), "
            "or run `devstack/stack.sh --standard` as root, which installs it without a system node."
        )
    return RabbitPrograms(SERVER_SCRIPT, Path(epmd))
