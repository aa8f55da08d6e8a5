# SPDX-License-Identifier: Apache-2.0
"""An agent suspended between the answer to a confirm and the starts: its host was fenced, its instances evacuated.

The agent looked once a pass whether it must audit. It resumed within a pass and started all guests a second time.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rpcapi.resources import names
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.live_cluster import HOSTS
from tests.support.conductor.simulated_cluster import uuid_list
from tests.support.simulation.moves_cluster import SLOTS, SPEC, MovesCluster
from tests.support.store.backends import memory_partition

BATCH = uuid_list(SLOTS + 2)[SLOTS:]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MovesCluster]:
    created = MovesCluster(tmp_path, memory_partition())
    created.settle()
    for slot in range(SLOTS):
        created.delete(created.slots[slot : slot + 1])
    created.settle()
    yield created
    created.close()


def build_elsewhere(cluster: MovesCluster, host: str) -> None:
    """Fence a host that does not answer, and let the conductor build its instances on other hosts."""
    cluster.now_ms += 600_000
    cluster.hosts.silence[host] += 600
    cluster.ledger.store.fence(host, "token", force=True)
    cluster.hosts.kill(host)
    others = [rig for name, rig in cluster.hosts.rigs.items() if name != host]
    for _ in range(40):
        cluster.now_ms += 30_000
        cluster.work()
        messages, cluster.hosts.queue = cluster.hosts.queue, []
        for receiver, message in messages:
            if receiver != host:
                message(cluster.hosts._endpoint(receiver))
        for rig in others:
            rig.queue.run()
            while (due := rig.queue.next_ms()) is not None and due <= cluster.now_ms:
                rig.queue.fire()
    assert {cluster.record(uuid).status for uuid in BATCH} == {InstanceStatus.ACTIVE}


def suspend_in(cluster: MovesCluster, host: str, owner: Any, method: str, at: str) -> None:
    """Suspend the agent of ``host`` before or after the first call of a method, until its host was fenced."""
    plain: Callable[..., Any] = getattr(owner, method)

    def call(*args: Any, **kwargs: Any) -> Any:
        setattr(owner, method, plain)
        answer = plain(*args, **kwargs) if at == "after" else None
        build_elsewhere(cluster, host)
        cluster.hosts.dead.discard(host)
        return answer if at == "after" else plain(*args, **kwargs)

    setattr(owner, method, call)


@pytest.mark.parametrize("moment", ["answer to confirm", "first start", "second start"])
def test_evacuated_instance_is_not_started_by_an_agent_that_resumes(
    cluster: MovesCluster, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = HOSTS[0]
    rig = cluster.hosts.rigs[host]
    assert rig.guest_manager is not None
    hypervisor = rig.guest_manager.hypervisor
    if moment == "answer to confirm":
        suspend_in(cluster, host, rig.guest_manager.journal, "advance", "before")
    else:
        suspend_in(cluster, host, hypervisor, "spawn", "before" if moment == "first start" else "after")
    starts: list[str] = []
    create = hypervisor._create

    def note_start(guest: Any) -> Any:
        starts.append(guest.uuid)
        return create(guest)

    monkeypatch.setattr(hypervisor, "_create", note_start)
    cluster.consumers.update({uuid: [uuid] for uuid in BATCH})
    cluster.build(BATCH, SPEC)
    cluster.work()
    cluster.hosts.deliver()
    # Only what was started before the suspension has been started, and the audit has ended it.
    assert len(starts) == (1 if moment == "second start" else 0)
    cluster.settle()
    assert [guest for name, guest in cluster.hosts.guests() if name == host] == []
    for uuid in BATCH:
        record = cluster.record(uuid)
        assert record.status is InstanceStatus.ACTIVE
        assert cluster.hosts.running_hosts({uuid}) == {names.host_of(record.host or "")}
    assert cluster.ledger.problems() == []
