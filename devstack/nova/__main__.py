# SPDX-License-Identifier: Apache-2.0
"""Program of nova.sh: starts a Nova cloud and boots servers on it, or stops the cloud."""

import argparse
import signal
import sys
from collections.abc import Sequence

from devstack import peer_environments
from devstack.deploy.users.errors import DevstackError
from devstack.nova import command_line, report
from devstack.nova.client import CallFailed
from devstack.nova.cloud import NovaCloud, default_folder
from devstack.servers import lifetime
from devstack.servers.install import install_missing

PACKAGES = ("rabbitmq-server", "mariadb-server-core")
INTERRUPTED = 128 + signal.SIGINT
FLAVOR = "m1.tiny"


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 only if every server is ACTIVE and Placement agrees with Nova's records."""
    options = command_line.parse(argv)
    try:
        if options.down:
            return _stop()
        install_missing(PACKAGES)
        peer_environments.install()
        return 0 if options.install else _start(options)
    except (DevstackError, CallFailed) as why:
        print(f"nova.sh: {why}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("nova.sh: interrupted. No process is left running.", file=sys.stderr)
        return INTERRUPTED


def _stop() -> int:
    folder = default_folder()
    cloud = NovaCloud.find(folder)
    if cloud is None:
        print(f"There is no Nova cloud in {folder}: nothing to stop.")
        return 0
    names = cloud.running
    cloud.destroy()
    print(f"Stopped {', '.join(names) or 'nothing (no process was running)'} and removed {folder}.")
    return 0


def _start(options: argparse.Namespace) -> int:
    folder = default_folder()
    present = NovaCloud.find(folder)
    if present is not None and present.running:
        print(f"A Nova cloud in {folder} is already up: {', '.join(present.running)}.")
        print(report.hint(present))
        return 0
    if present is not None:
        present.destroy()
    cloud = NovaCloud(folder, command_line.size(options))
    print(f"Starting a Nova cloud in {folder}")
    cloud.start()
    try:
        cloud.nova.create_flavor(FLAVOR, vcpus=1, memory_mb=512, disk_gb=1)
        uuids = [cloud.nova.boot(f"server{number}", FLAVOR) for number in range(1, options.servers + 1)]
        servers = cloud.nova.wait_for(uuids, "ACTIVE", "ERROR")
        differences = cloud.differences()
    except BaseException:
        cloud.destroy()
        raise
    lifetime.release()
    print(report.text(cloud, servers, differences))
    print(report.hint(cloud))
    return 0 if not differences and all(server["status"] == "ACTIVE" for server in servers) else 1


if __name__ == "__main__":
    sys.exit(main())
