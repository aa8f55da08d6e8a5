# SPDX-License-Identifier: Apache-2.0
"""Fakes of the services' endpoints, backed by dictionaries."""

import collections
import threading

import oslo_messaging as messaging

from rpcapi import errors, objects
from rpcapi.bounds import CollectionSize
from rpcapi.endpoint import expose
from tests.unit.rpcapi.cli.fake_claims import Claims
from tests.unit.rpcapi.cli.fake_scheduler import Scheduler
from tests.unit.rpcapi.cli.pages import page_of

# Configuration with a flavor of groups, traits and devices, and an image.
CLOUD = """
[flavor:gpu]
vcpus = 4
memory_mb = 4096
disk_gb = 20
extra_specs = resources1:VGPU=1, trait1:CUSTOM_A=required, accel:device_profile=fpga, "pci_passthrough:alias=a:1,b:1"
[image:debian]
id = 77
disk_format = qcow2
properties = hw_architecture=x86_64, trait:CUSTOM_B=required
[device_profile:fpga]
group = resources:FPGA=1, trait:CUSTOM_AES=required
[pci]
alias = {"name": "a", "resource_class": "CUSTOM_A"}
alias = {"name": "b", "vendor_id": "8086", "product_id": "1572"}
"""


def instance(uuid, **values):
    defaults = {
        "request_id": "req-1",
        "project_id": "p",
        "user_id": "u",
        "flavor": "m1.tiny",
        "status": "ACTIVE",
        "host": "host1/node1",
        "attempt": 1,
        "created_ms": 1_000,
        "updated_ms": 2_000,
    }
    return objects.Instance.of(uuid=uuid, **defaults | values)


def migration(uuid, **values):
    defaults = {
        **{"instance": "a", "kind": "migration", "status": "migrating", "source_host": "host1/node1"},
        **{"source_attempt": 1, "request_id": "req-1", "created_ms": 1, "updated_ms": 1},
    }
    return objects.Migration.of(uuid=uuid, **defaults | values)


class Conductor:
    """Records instances; each poll of an unfinished one advances it."""

    def __init__(self):
        self.instances = {}
        self.migrations = {}
        self.guests = collections.defaultdict(list)  # service host -> (uuid, attempt, node, state)
        self.silent = set()  # service hosts whose agents do not answer
        self.cluster_claims = None  # the fake of the claims, from which released ones disappear
        self.released = []  # (host, claims) of each call
        self.ended_migrations = []  # (partition, host, claims, ends_running) of each call
        self.compared = []  # instances
        self.adopted = []  # (partition, host, uuids) of each call
        self.unshelve_hosts = []  # of each call of unshelve_instances
        self.rebuild_images = []  # of each call of rebuild_instances
        self.confirmed = []  # migrations
        self.evacuations = []  # (uuids, target) of each call
        self.up = None  # the host that is up
        self.hopeless = {}  # by instance: why its evacuation fails
        self._most_open = 0
        self.builds = []
        self.specs = {}  # by instance
        self.copies = {}  # by migration: (phase, total, remaining, copied) in MiB
        self.moves = []  # (method, uuids, arguments) of each call
        self.migration_status, self.migration_reason = "finished", None  # of the next moves
        self.first_sent = []  # of each call of build_instances
        self.lost_answers = 0  # of the next calls of build_instances
        self.contexts = []
        self.ends = iter(())  # end statuses of new instances, then ACTIVE
        self.polls = 2
        self.pages_read = 0
        self.stuck = False
        self.replicas_missing = False
        self.sizes = {"records": CollectionSize(3, 3 << 20, 100 << 20)}
        self._pending = {}
        self._lock = threading.Lock()

    @expose
    def check_store(self, ctxt):
        if self.replicas_missing:
            raise errors.NotReplicated(store="The conductors' store", acknowledged=0, needed=1, wait_ms=1000)

    @expose
    def store_sizes(self, ctxt):
        return objects.StoreSizes.of_sizes(self.sizes)

    @expose
    def get_quota(self, ctxt, project):
        return objects.ProjectQuota.of_usage({"instances": 3}, {"VCPU": 8} if project == "small" else {})

    @expose
    def build_instances(self, ctxt, spec, uuids, names=None, first_sent=None):
        self.contexts.append(ctxt)
        self.builds.append((spec, uuids))
        self.first_sent.append(first_sent)
        for uuid, name in zip(uuids, names or [None] * len(uuids), strict=True):
            self.instances[uuid] = instance(
                uuid, name=name, request_id=ctxt.request_id, flavor=spec.flavor, status="SCHEDULING", host=None
            )
            self._pending[uuid] = (self.polls, next(self.ends, "ACTIVE"))
        if self.lost_answers:
            self.lost_answers -= 1
            raise errors.StoreUnavailable(why="its answer is lost")

    @expose
    def get_instances(self, ctxt, uuids):
        for uuid in uuids:
            if uuid not in self.instances:
                raise errors.UnknownInstance(uuid=uuid)
            self._advance(uuid)
        return objects.InstancePage.of(instances=[self.instances[uuid] for uuid in uuids])

    @expose
    def list_instances(self, ctxt, marker=None, limit=1000, deleted=False):
        self.pages_read += 1
        names = sorted(uuid for uuid, record in self.instances.items() if deleted or record.status != "DELETED")
        uuids, following = page_of(names, marker, limit)
        return objects.InstancePage.of(instances=[self.instances[uuid] for uuid in uuids], marker=following)

    @expose
    def list_migrations(self, ctxt, marker=None, limit=1000):
        uuids, following = page_of(sorted(self.migrations), marker, limit)
        return objects.MigrationPage.of(migrations=[self.migrations[uuid] for uuid in uuids], marker=following)

    @expose
    def get_migrations(self, ctxt, uuids):
        for uuid in uuids:
            if uuid not in self.migrations:
                raise errors.UnknownMigration(uuid=uuid)
            self._end_migration(self.migrations[uuid])
        return objects.MigrationPage.of(migrations=[self.migrations[uuid] for uuid in uuids])

    def _end_migration(self, move):
        """End a migration that is read, unless it is stuck."""
        if move.status == "preparing" and not self.stuck:
            move.reason = self.hopeless.get(move.instance)
            move.status = "completed" if move.reason is None else "error"

    @expose
    def list_guests(self, ctxt, host, marker=None, limit=1000):
        if host in self.silent:
            raise errors.Unavailable(what=f"The agent of host {host!r}", why="no answer in time")
        rows = {f"{uuid}@{attempt}": (uuid, attempt, node, state) for uuid, attempt, node, state in self.guests[host]}
        keys, following = page_of(sorted(rows), marker, limit)
        uuids, attempts, nodes, states = zip(*(rows[key] for key in keys), strict=True) if keys else ((),) * 4
        columns = {"uuids": uuids, "attempts": attempts, "names": nodes, "states": states}
        return objects.GuestPage.of(**{name: list(column) for name, column in columns.items()}, marker=following)

    @expose
    def delete_instances(self, ctxt, uuids):
        for uuid in uuids:
            if uuid not in self.instances:
                raise errors.UnknownInstance(uuid=uuid)
        for uuid in uuids:
            self.instances[uuid].status = "DELETING"
            self._pending[uuid] = (self.polls, "DELETED")

    @expose
    def release_orphans(self, ctxt, host, refs):
        self.released.append((host, refs.pairs()))
        self.cluster_claims.end(refs.pairs())

    @expose
    def end_leaked_migrations(self, ctxt, partition, host, refs, ends_running=False):
        self.ended_migrations.append((partition, host, refs.pairs(), ends_running))
        self.cluster_claims.end(refs.pairs())
        self.guests[host] = [row for row in self.guests[host] if row[:2] not in refs.pairs()]

    @expose
    def compare_instances(self, ctxt, uuids):
        self.compared += uuids
        for uuid in uuids:
            self.instances[uuid].status = "ERROR"

    @expose
    def adopt_instances(self, ctxt, partition, host, uuids):
        guests = {uuid: (attempt, node) for uuid, attempt, node, _state in self.guests[host]}
        for uuid in uuids:
            if uuid not in guests:
                raise errors.InstanceConflict(uuid=uuid, why=f"host {host} runs no attempt of it")
        self.adopted.append((partition, host, uuids))
        for uuid in uuids:
            attempt, node = guests[uuid]
            self.instances[uuid] = instance(uuid, attempt=attempt, host=node)

    @expose
    def stop_instances(self, ctxt, uuids):
        self._change_power(uuids, "ACTIVE", "STOPPING", "SHUTOFF")

    @expose
    def start_instances(self, ctxt, uuids):
        self._change_power(uuids, "SHUTOFF", "STARTING", "ACTIVE")

    @expose
    def reboot_instances(self, ctxt, uuids, hard=False):
        self._change_power(uuids, "ERROR" if hard else "ACTIVE", "HARD_REBOOT" if hard else "REBOOT", "ACTIVE")

    @expose
    def rebuild_instances(self, ctxt, uuids, image=None):
        self.rebuild_images.append(image)
        self._change_power(uuids, "SHUTOFF", "REBUILD", "SHUTOFF")

    @expose
    def evacuate_instances(self, ctxt, uuids, migrations, target=None):
        self.evacuations.append((uuids, target))
        if self.up is not None:
            raise errors.HostIsUp(host=self.up)
        for uuid in uuids:
            if self.instances[uuid].status not in ("ACTIVE", "ERROR"):
                raise errors.InstanceConflict(uuid=uuid, why=f"it is {self.instances[uuid].status}")
        for uuid, move in zip(uuids, migrations, strict=True):
            self.migrations[move] = migration(
                move, instance=uuid, kind="evacuation", status="preparing", source_host=self.instances[uuid].host
            )
            self.instances[uuid].status = "REBUILD"
            self._pending[uuid] = (self.polls, "ACTIVE")
            self._most_open = max(self._most_open, self._open_count())

    def _open_count(self):
        return sum(move.status == "preparing" for move in self.migrations.values())

    @property
    def most_open(self):
        """The greatest number of migrations that were under way at a time."""
        return self._most_open

    @expose
    def shelve_instances(self, ctxt, uuids):
        self._change_power(uuids, "ACTIVE", "SHELVING", "SHELVED")

    @expose
    def offload_instances(self, ctxt, uuids):
        self._change_power(uuids, "SHELVED", "OFFLOADING", "SHELVED_OFFLOADED")

    @expose
    def unshelve_instances(self, ctxt, uuids, host=None):
        self.unshelve_hosts.append(host)
        self._change_power(uuids, "SHELVED_OFFLOADED", "UNSHELVING", "ACTIVE")

    @expose
    def migrate_instances(self, ctxt, uuids, migrations, host=None, allow_cross_cell=False):
        self.moves.append(("migrate", uuids, {"host": host, "allow_cross_cell": allow_cross_cell}))
        self._move(uuids, migrations)

    @expose
    def live_migrate_instances(self, ctxt, uuids, migrations, host=None):
        self.moves.append(("live-migrate", uuids, {"host": host}))
        self._change_power(uuids, "ACTIVE", "MIGRATING", next(self.ends, "ACTIVE"))
        for uuid, migration in zip(uuids, migrations, strict=True):
            values = {"source_host": "h/n", "source_attempt": 1, "request_id": "r", "created_ms": 1, "updated_ms": 2}
            values |= {"kind": "live-migration", "status": self.migration_status, "reason": self.migration_reason}
            self.migrations[migration] = objects.Migration.of(uuid=migration, instance=uuid, **values)

    @expose
    def abort_migrations(self, ctxt, uuids):
        self._control("abort", uuids)

    @expose
    def force_complete_migrations(self, ctxt, uuids):
        self._control("force", uuids)

    def _control(self, action, uuids):
        for uuid in uuids:
            if uuid not in self.migrations:
                raise errors.UnknownMigration(uuid=uuid)
        self.moves.append((action, uuids, {}))

    @expose
    def list_copies(self, ctxt, uuids):
        rows = [(uuid, *self.copies[uuid]) for uuid in uuids if uuid in self.copies]
        names = ("migrations", "phases", "total_mb", "remaining_mb", "copied_mb")
        columns = {name: [row[index] for row in rows] for index, name in enumerate(names)}
        return objects.CopyPage.of(numbers=[2] * len(rows), reasons=[""] * len(rows), **columns)

    @expose
    def resize_instances(self, ctxt, uuids, migrations, spec, *, allow_cross_cell=False, other_specs=()):
        specs = [spec, *other_specs]
        self.moves.append(("resize", uuids, {"specs": specs, "allow_cross_cell": allow_cross_cell}))
        self._move(uuids, migrations)

    @expose
    def get_specs(self, ctxt, uuids):
        return [self.specs[uuid] for uuid in uuids]

    @expose
    def confirm_migrations(self, ctxt, uuids):
        self.confirmed += uuids
        for uuid in uuids:
            self.migrations[uuid].status = "confirmed"
            if self.instances[self.migrations[uuid].instance].status == "RESIZE":  # nobody has polled it since
                self.instances[self.migrations[uuid].instance].status = "VERIFY_RESIZE"
        self._change_power(
            [self.migrations[uuid].instance for uuid in uuids], "VERIFY_RESIZE", "VERIFY_RESIZE", "ACTIVE"
        )

    @expose
    def revert_migrations(self, ctxt, uuids):
        self._change_power(
            [self.migrations[uuid].instance for uuid in uuids], "VERIFY_RESIZE", "REVERT_RESIZE", "ACTIVE"
        )

    def _move(self, uuids, migrations):
        self._change_power(uuids, "ACTIVE", "RESIZE", next(self.ends, "VERIFY_RESIZE"))
        for uuid, migration in zip(uuids, migrations, strict=True):
            self.instances[uuid].migration = migration
            values = {"source_host": "h/n", "source_attempt": 1, "request_id": "r", "created_ms": 1, "updated_ms": 2}
            values |= {"kind": "migration", "status": self.migration_status, "reason": self.migration_reason}
            self.migrations[migration] = objects.Migration.of(uuid=migration, instance=uuid, **values)

    def _change_power(self, uuids, allowed, changing, end):
        for uuid in uuids:
            if self.instances[uuid].status not in (allowed, changing, end):
                raise errors.InstanceConflict(uuid=uuid, why=f"it is {self.instances[uuid].status}")
        for uuid in uuids:
            if self.instances[uuid].status in (allowed, changing):
                self.instances[uuid].status = changing
                self._pending[uuid] = (self.polls, end)

    def _advance(self, uuid):
        with self._lock:
            if uuid in self._pending and not self.stuck:
                polls, end = self._pending[uuid]
                self._pending[uuid] = (polls - 1, end)
                if polls <= 0:
                    record = self.instances[uuid]
                    record.status = end
                    record.host = None if end == "ERROR" else "host1/node1"
                    record.reason = "no valid host: 3 VCPU" if end == "ERROR" else None


class Cluster:
    """All fakes and their topics."""

    def __init__(self):
        self.conductor = Conductor()
        self.scheduler = Scheduler()
        self.claims = Claims()
        self.claims2 = Claims("second")

    def reset(self):
        """Reset all fakes, keeping the endpoint objects."""
        for fake in (self.conductor, self.scheduler, self.claims):
            fake.__init__()
        self.claims2.__init__("second")

    def add_partition(self, *hosts):
        """Add a second partition with these hosts."""
        self.scheduler.partitions = ["default", "second"]
        self.scheduler.partitions_by_host = dict.fromkeys(hosts, "second")

    def endpoints(self):
        by_topic = {"conductor": self.conductor, "scheduler": self.scheduler, "claims.default": self.claims}
        by_topic["claims.second"] = self.claims2
        for topic, endpoint in by_topic.items():
            endpoint.target = messaging.Target(version="1.50")
            yield messaging.Target(topic=topic, server="one"), endpoint
