# SPDX-License-Identifier: Apache-2.0
"""Doubles of the services' endpoints, backed by dictionaries."""

import collections
import threading

import oslo_messaging as messaging

from rpcapi import errors, objects
from rpcapi.bounds import CollectionSize
from rpcapi.endpoint import expose
from tests.unit.rpcapi.cli.claims_double import Claims
from tests.unit.rpcapi.cli.pages import page_of


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


class Conductor:
    """Records instances; each poll of an unfinished one advances it."""

    def __init__(self):
        self.instances = {}
        self.guests = collections.defaultdict(list)  # service host -> (uuid, attempt, node, state)
        self.silent = set()  # service hosts whose agents do not answer
        self.builds = []
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


class Scheduler:
    """Host state, decisions and partitions."""

    def __init__(self):
        self.state = {"compute": {}, "service": {}, "aggregate": {}, "placement": {}}
        self.concurrent_updates = []  # aggregate documents written by others just before an update
        self.versions = {}
        self.decisions = {}
        self.dry_runs = []
        self.filters = []
        self.conflicts = 0
        self.writers = []
        self.partitions = ["default"]
        self.unreachable = []
        self.partitions_by_host = {}
        self.removed = []

    def node(self, name, used=0, zone="az1", traits=()):
        inventories = {"VCPU": {"total": 8, "capacity": 16}, "CUSTOM_GOLD": {"total": 4, "capacity": 4}}
        self.state["compute"][name] = {
            "inventories": inventories,
            "used": {"VCPU": used},
            "traits": list(traits),
            "availability_zone": zone,
            "metrics": {"load": 0.5},
        }

    def service(self, name, binary="gantt-compute", **values):
        defaults = {"binary": binary, "enabled": True, "disabled_reason": None, "alive": True, "audited": True}
        self.state["service"][name] = defaults | {"last_report_ms": 1_700_000_000_000} | values

    def _read(self, namespace, name):
        document = self.state[namespace].get(name)
        if document is None:
            raise errors.UnknownHost(name=name)
        version = self.versions.get((namespace, name), 1)
        return objects.HostState.of(
            namespace=namespace, name=name, version=version, document=document, partition=self.partition_of(name)
        )

    def partition_of(self, name):
        """Return the partition of a host: the assigned one, or the first."""
        return self.partitions_by_host.get(name.partition("/")[0], self.partitions[0])

    @expose
    def list_partitions(self, ctxt):
        return objects.PartitionList.of(
            names=self.partitions,
            available=[name not in self.unreachable for name in self.partitions],
            epochs=[7] * len(self.partitions),
            positions=[9] * len(self.partitions),
            hosts=[len(self.state["compute"])] * len(self.partitions),
            alive=[0] * len(self.partitions),
            claims=[None if name in self.unreachable else {"confirmed": 1} for name in self.partitions],
        )

    @expose
    def remove_host(self, ctxt, host):
        self.removed.append(host)

    @expose
    def get_host_state(self, ctxt, namespace, name):
        return self._read(namespace, name)

    @expose
    def list_host_state(self, ctxt, namespace, marker=None, limit=1000, *, matching=None, partition=None):
        if namespace not in self.state:
            raise errors.UnknownNamespace(namespace=namespace, known=", ".join(self.state))
        criteria = dict(matching or {})
        host = criteria.pop("host", None)
        names = [
            name
            for name, document in self.state[namespace].items()
            if partition in (None, self.partition_of(name))
            and host in (None, name.partition("/")[0])
            and criteria.items() <= document.items()
        ]
        names_of_page, following = page_of(sorted(names), marker, limit)
        return objects.HostStatePage.of(
            states=[self._read(namespace, name) for name in names_of_page], marker=following
        )

    @expose
    def update_host_state(self, ctxt, state, writer):
        self.writers.append(writer)
        if state.version == 0:
            self.state[state.namespace].setdefault(state.name, {})
        read = self._read(state.namespace, state.name)
        if self.conflicts:
            self.conflicts -= 1
            self.versions[state.namespace, state.name] = read.version + 1
            raise errors.VersionConflict(what=state.name, version=read.version + 1, expected=state.version)
        self.state[state.namespace][state.name] |= state.document
        return self._read(state.namespace, state.name)

    @expose
    def delete_host_state(self, ctxt, namespace, name, version, writer):
        self.state[namespace].pop(name, None)

    @expose
    def update_aggregates(self, ctxt, aggregates):
        for update in aggregates:
            document = self.state["aggregate"].get(update["id"], {})
            if self.concurrent_updates:
                document = self.state["aggregate"][update["id"]] = self.concurrent_updates.pop()
            if update["version"] > document.get("version", 0):
                self.state["aggregate"][update["id"]] = {key: value for key, value in update.items() if key != "id"}

    @expose
    def delete_aggregate(self, ctxt, name, version=None):
        self.state["aggregate"].pop(name, None)

    @expose
    def explain(self, ctxt, request_id):
        if request_id not in self.decisions:
            raise errors.UnknownDecision(request_id=request_id)
        return objects.Decision.of(request_id=request_id, partition="default", document=self.decisions[request_id])

    @expose
    def dry_run(self, ctxt, spec, count=1):
        self.dry_runs.append((spec, count))
        return objects.Decision.of(request_id=ctxt.request_id, partition="default", document=self.decisions["dry run"])

    @expose
    def list_filters(self, ctxt, kind=None):
        rows = [row for row in self.filters if row["kinds"] == kind]
        columns = {name: [row[name] for row in rows] for name in objects.FilterList.COLUMNS}
        return objects.FilterList.of(worker="s:0", **columns)

    @expose
    def list_decisions(self, ctxt, partition=None, marker=None, limit=100):
        if partition not in (None, "default"):
            raise errors.UnknownPartition(partition=partition, known="default")
        names_of_page, following = page_of(sorted(self.decisions), marker, limit)
        page = [self.explain(ctxt, request_id=request_id) for request_id in names_of_page]
        return objects.DecisionPage.of(decisions=page, marker=following)


class Cluster:
    """All doubles and their topics."""

    def __init__(self):
        self.conductor = Conductor()
        self.scheduler = Scheduler()
        self.claims = Claims()
        self.claims2 = Claims("second")

    def reset(self):
        """Reset all doubles, keeping the endpoint objects."""
        for double in (self.conductor, self.scheduler, self.claims):
            double.__init__()
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
