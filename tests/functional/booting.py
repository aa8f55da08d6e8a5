# SPDX-License-Identifier: Apache-2.0
"""Small servers booted one by one in a running cluster, and the operator's command beside them."""

import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

from tqdm import tqdm

from devstack import exercise
from rpcapi import objects
from rpcapi.model.names import host_of
from tests.functional.clusters import Running

ASKED = {"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 1}


def gantt(cluster: Running, *arguments: str) -> str:
    """Run the operator's command and return what it prints."""
    command = [str(Path(sys.executable).with_name("gantt")), "--config-file", str(cluster.cluster.client_conf)]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def boot(cluster: Running, **asked: Any) -> objects.Instance:
    """Boot one server and return it at its end."""
    session, one = cluster.session, str(uuid.uuid4())
    session.new_request()
    spec = objects.RequestSpec.of(flavor="m1.tiny", resources=ASKED, **asked)
    session.call(session.conductor.build_instances, spec, [one])
    (found,) = exercise.wait_for_servers(session, [one], 60, tqdm(disable=True))
    return found


def home(cluster: Running, **asked: Any) -> str:
    """Return the service host on which such a server becomes ACTIVE."""
    found = boot(cluster, **asked)
    assert found.status == "ACTIVE", found.reason
    return host_of(found.host)
