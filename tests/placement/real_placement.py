# SPDX-License-Identifier: Apache-2.0
"""OpenStack Placement with a database of its own, in an environment that this project does not install into itself."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from devstack import peer_environments
from devstack.nova.roles import INSIDE
from devstack.peer_environments import Peer
from devstack.servers.ports import answers, free_port
from tests.support.clusters.waiting import wait_until

SECONDS = 300
NEEDED = ("openstack-placement==16.0.0", "cheroot>=11,<12", "PyMySQL", "psycopg2-binary")
PLACEMENT = Peer("placement-on-databases", "16.0.0", NEEDED, "tox -e placement")
_CONFIGURATION = """\
[api]
auth_strategy = noauth2
[placement_database]
connection = {url}
"""


def programs() -> Path:
    """Return the folder of Placement's programs; it is installed from PyPI at the first call."""
    peer_environments.install(peer=PLACEMENT)
    return peer_environments.python(peer=PLACEMENT).parent


class RealPlacement:
    """Placement on the database at a URL, configured in ``folder``."""

    def __init__(self, folder: Path, url: str) -> None:
        folder.mkdir()
        self._folder = folder
        self.configuration = folder / "placement.conf"
        self.configuration.write_text(_CONFIGURATION.format(url=url), encoding="utf-8")

    def sync(self, revision: str) -> None:
        """Create the tables of a revision of Placement's schema; "head" is the last one."""
        program = Path(__file__).with_name("real_schema.py")
        command = [programs() / "python", "-W", "ignore", program, self.configuration, revision]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert answer.returncode == 0, answer.stderr

    @contextlib.contextmanager
    def serving(self) -> Iterator[int]:
        """Serve the API on a port of 127.0.0.1, which is yielded."""
        port, log_path = free_port(), self._folder / "placement.log"
        command = [programs() / "python", "-W", "ignore", INSIDE / "serve.py", "placement.wsgi.api", str(port)]
        with log_path.open("wb") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, env={"OS_PLACEMENT_CONFIG_DIR": str(self._folder)}
            )
        try:
            wait_until(lambda: answers(port) or process.poll() is not None, "the start of Placement")
            yield port
            assert process.poll() is None, log_path.read_text()
        finally:
            process.kill()
            process.wait()
