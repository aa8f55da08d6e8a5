# SPDX-License-Identifier: Apache-2.0
"""A worker is built from its configuration without sending or reading anything."""

import pytest

from rpcapi import errors
from scheduler_svc import service
from scheduler_svc.replication.audit_requests import AuditAnnouncer
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler.workers import configure


class UnreadStore(MemoryStore):
    """A store that must not be read."""

    def snapshot(self, namespaces=()):
        raise AssertionError("read")


def test_built_worker_has_read_nothing(conf):
    built = service.build_worker(configure(conf), 0, UnreadStore)
    assert len(built.servers) == 2  # topics scheduler and claims.default
    replica = built.scheduling.partitions.own.replica
    assert not replica.ready
    reads = replica.unchecked_table.reads
    assert reads
    assert built.scheduling.current.policy.reads == reads


@pytest.mark.parametrize(("worker_index", "announces"), [(0, True), (1, False)])
def test_one_worker_of_a_daemon_requests_audits(conf, monkeypatch, worker_index, announces):
    requested = []
    monkeypatch.setattr(AuditAnnouncer, "request_audits", lambda self, replica: requested.append(replica.partition))
    service.build_worker(configure(conf), worker_index, MemoryStore).scheduling.partitions.load()
    assert requested == ["default"] * announces


def test_mistake_in_the_file_of_known_hosts_is_shown_at_start(conf, tmp_path):
    path = tmp_path / "known-hosts"
    path.write_text("h1\nh1/n1\n")
    configure(conf).set_override("known_hosts_file", str(path), group="store")
    with pytest.raises(errors.BadConfiguration, match="line 2"):
        service.build_worker(conf, 0, MemoryStore)


def test_invalid_configuration_is_refused(conf):
    configure(conf).set_override("enabled_filters", ["Nonsense"], group="filter_scheduler")
    with pytest.raises(errors.BadConfiguration, match="Nonsense"):
        service.build_worker(conf, 0, MemoryStore)


def test_file_of_known_hosts_is_read_for_the_partition_of_the_daemon(conf, monkeypatch, tmp_path):
    path = tmp_path / "known-hosts"
    path.write_text("h1\n")
    configure(conf).set_override("known_hosts_file", str(path), group="store")
    announcers = []
    monkeypatch.setattr(service, "AuditAnnouncer", lambda *values: announcers.append(values) or AuditAnnouncer(*values))
    service.build_worker(conf, 0, MemoryStore)
    assert [values[1:] for values in announcers] == [(conf.rpc.partition, str(path))]
