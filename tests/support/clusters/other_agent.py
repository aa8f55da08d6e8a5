# SPDX-License-Identifier: Apache-2.0
"""One more process of a cluster's agent, with hosts of its own, which can be killed or cut off alone."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.clusters.clusters import RunningCluster


class OtherAgent:
    """An agent with a configuration and a state folder of its own; those hosts must be excluded from the cluster's.

    ``hosts`` and ``first_hosts``, those of the cluster's own agent, are as in [compute] hosts.
    """

    def __init__(self, cluster: RunningCluster, folder: Path, hosts: str, first_hosts: str) -> None:
        layout = cluster.cluster.layout
        self._conf, self._log = folder / "lost.conf", folder / "log"
        state = layout.state / "compute"
        self.state = state / "lost"
        text = layout.conf("compute").read_text()
        self._conf.write_text(text.replace(first_hosts, hosts).replace(str(state), str(self.state)))
        self._conf.chmod(0o600)
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        program = Path(sys.executable).with_name("gantt-compute")
        with self._log.open("ab") as log:
            command = [str(program), "--config-file", str(self._conf)]
            return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and its workers at once."""
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        """End the process and its workers, as a power failure would; does nothing if it has ended."""
        if self.process.poll() is None:
            self.signal(signal.SIGKILL)
            self.process.wait()

    def restart(self) -> None:
        """Start the process again, with the guests and journals that it had."""
        self.process = self._start()
