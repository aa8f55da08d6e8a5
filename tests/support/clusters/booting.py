# SPDX-License-Identifier: Apache-2.0
"""Helpers to boot small servers in a running cluster, and to run the operator's command."""

import subprocess
import uuid
from typing import Any

import oslo_messaging as messaging
from tqdm import tqdm

from devstack import exercise, workload
from rpcapi import errors, objects
from rpcapi.admin.session import Session
from rpcapi.resources.names import host_of
from tests.support.clusters import commands
from tests.support.clusters.clusters import RunningCluster

SERVER_RESOURCES = {"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 1}


def gantt(cluster: RunningCluster, *arguments: str) -> str:
    """Run the operator's command and return its output."""
    command = [*commands.gantt(), "--config-file", str(cluster.cluster.client_conf)]
    completed = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def boot(cluster: RunningCluster, **spec_fields: Any) -> objects.Instance:
    """Boot one server, small unless its fields say otherwise, and return it in its final status."""
    (instance,) = boot_many(cluster, 1, **spec_fields)
    return instance


def boot_many(cluster: RunningCluster, count: int, **spec_fields: Any) -> list[objects.Instance]:
    """Boot servers with one request, as ``boot``."""
    session, uuids = cluster.session, [str(uuid.uuid4()) for _ in range(count)]
    session.new_request()
    spec = objects.RequestSpec.of(**{"flavor": "m1.tiny", "resources": SERVER_RESOURCES, **spec_fields})
    session.call(session.conductor.build_instances, spec, uuids)
    return exercise.wait_for_servers(session, uuids, 60, tqdm(disable=True))


def boot_host(cluster: RunningCluster, **spec_fields: Any) -> str:
    """Boot a server and return its service host; it must become ACTIVE."""
    instance = boot(cluster, **spec_fields)
    assert instance.status == "ACTIVE", instance.reason
    return host_of(instance.host)


TINY = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}


def boot_all(running: RunningCluster, requests: list[workload.WorkloadRequest], uuids: list[str]) -> None:
    """Request every server, and repeat the call until it is accepted: the same uuids make it the same request."""
    session = Session([str(running.cluster.client_conf)])
    for request in requests:
        instance_uuid = str(uuid.uuid4())
        uuids.append(instance_uuid)
        session.new_request()
        while True:
            try:
                session.call(session.conductor.build_instances, request.spec(), [instance_uuid])
                break
            except (messaging.MessagingException, errors.Unavailable, errors.DeadlinePassed):
                continue
    session.close()
