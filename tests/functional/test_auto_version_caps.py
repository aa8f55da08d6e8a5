# SPDX-License-Identifier: Apache-2.0
"""Every service and caller with `[upgrade_levels] ... = auto`, on both buses: nothing that all have is refused."""

import uuid

import pytest
from tqdm import tqdm

from devstack.cluster_size import Mode
from rpcapi import errors, objects
from rpcapi.admin import waiting
from rpcapi.clients.served_versions import SERVED, served_versions
from tests.support.clusters import clusters, truth
from tests.support.stride import in_turn

AUTO = {"upgrade_levels": dict.fromkeys(("scheduler", "claims", "conductor", "compute"), "auto")}
SECONDS = 120.0


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", in_turn(list(Mode)))
def test_caps_follow_the_living_services(mode: Mode) -> None:
    overrides = dict.fromkeys(("scheduler", "conductor", "compute", "client"), AUTO)
    with clusters.running_cluster(clusters.with_mode(mode), overrides) as running:
        session = running.session
        newest = {topic: version for binary in SERVED for topic, version in served_versions(binary).items()}
        truth.until(
            "every service reports its versions",
            lambda: session.call(session.scheduler.get_oldest_versions) == newest,
            SECONDS,
        )
        server = str(uuid.uuid4())
        session.call(session.conductor.build_instances, objects.RequestSpec.of(resources={"VCPU": 1}), [server])
        assert status(running, server) == "ACTIVE"
        # The conductor sends what agents of the last release without reports lack
        truth.until("the conductor knows that agents reboot", lambda: reboot(running, server), SECONDS)
        assert status(running, server) == "ACTIVE"
        session.call(session.conductor.stop_instances, [server])
        assert status(running, server) == "SHUTOFF"


def reboot(running: clusters.RunningCluster, server: str) -> bool:
    """Request a reboot; return whether the conductor accepted it. It looks the versions up from time to time."""
    try:
        running.session.call(running.session.conductor.reboot_instances, [server])
    except errors.UnknownMethod:
        return False
    return True


def status(running: clusters.RunningCluster, server: str) -> str:
    """Return the status of a server once no change is under way."""
    records = waiting.wait_for_status(running.session, [server], waiting.END_STATUSES, SECONDS, tqdm(disable=True))
    return str(records[server].status)
