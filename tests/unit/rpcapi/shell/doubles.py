# SPDX-License-Identifier: Apache-2.0
"""Endpoints that answer as the services would, from plain dictionaries."""

import threading

import oslo_messaging as messaging

from rpcapi import errors, objects
from rpcapi.endpoint import exposed


def instance(uuid, **values):
    fixed = {
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
    return objects.Instance.of(uuid=uuid, **fixed | values)


def page_of(ordered, marker, limit, most=2):
    """Return (items, next marker); pages are small here, so that callers must turn them."""
    keys = [key for key in ordered if marker is None or key > marker]
    size = min(limit, most)
    return keys[:size], keys[size - 1] if len(keys) > size else None


class Conductor:
    """Records instances; each poll of a building one brings it a step nearer to its end."""

    def __init__(self):
        self.instances = {}
        self.asked = []
        self.contexts = []
        self.ends = iter(())  # statuses at which new instances end, ACTIVE when they run out
        self.polls = 2
        self.stuck = False
        self._left = {}
        self._lock = threading.Lock()

    @exposed
    def build_instances(self, ctxt, spec, uuids):
        self.contexts.append(ctxt)
        self.asked.append((spec, uuids))
        for uuid in uuids:
            self.instances[uuid] = instance(
                uuid, request_id=ctxt.request_id, flavor=spec.flavor, status="SCHEDULING", host=None
            )
            self._left[uuid] = (self.polls, next(self.ends, "ACTIVE"))

    @exposed
    def get_instances(self, ctxt, uuids):
        for uuid in uuids:
            if uuid not in self.instances:
                raise errors.UnknownInstance(uuid=uuid)
            self._advance(uuid)
        return objects.InstancePage.of(instances=[self.instances[uuid] for uuid in uuids])

    @exposed
    def list_instances(self, ctxt, marker=None, limit=1000, deleted=False):
        known = sorted(u for u, each in self.instances.items() if deleted or each.status != "DELETED")
        uuids, following = page_of(known, marker, limit)
        return objects.InstancePage.of(instances=[self.instances[uuid] for uuid in uuids], marker=following)

    @exposed
    def delete_instances(self, ctxt, uuids):
        for uuid in uuids:
            if uuid not in self.instances:
                raise errors.UnknownInstance(uuid=uuid)
        for uuid in uuids:
            self.instances[uuid].status = "DELETING"
            self._left[uuid] = (self.polls, "DELETED")

    def _advance(self, uuid):
        with self._lock:
            if uuid in self._left and not self.stuck:
                left, end = self._left[uuid]
                self._left[uuid] = (left - 1, end)
                if left <= 0:
                    found = self.instances[uuid]
                    found.status = end
                    found.host = None if end == "ERROR" else "host1/node1"
                    found.reason = "no valid host: 3 VCPU" if end == "ERROR" else None


class Scheduler:
    """Host state of both namespaces, and decisions."""

    def __init__(self):
        self.state = {"compute": {}, "service": {}, "aggregate": {}}
        self.overtakers = []  # documents of aggregates that others write just before
        self.versions = {}
        self.decisions = {}
        self.dry_runs = []
        self.filters = []
        self.conflicts = 0
        self.writers = []
        self.partitions = ["default"]
        self.away = []
        self.homes = {}
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
        fixed = {"binary": binary, "enabled": True, "disabled_reason": None, "alive": True, "audited": True}
        self.state["service"][name] = fixed | {"last_report_ms": 1_700_000_000_000} | values

    def _read(self, namespace, name):
        document = self.state[namespace].get(name)
        if document is None:
            raise errors.UnknownHost(name=name)
        version = self.versions.get((namespace, name), 1)
        return objects.HostState.of(
            namespace=namespace, name=name, version=version, document=document, partition=self.where(name)
        )

    def where(self, name):
        """Return the partition of a host: one that was placed in the second, or the first."""
        return self.homes.get(name.partition("/")[0], self.partitions[0])

    @exposed
    def list_partitions(self, ctxt):
        return objects.PartitionList.of(
            names=self.partitions,
            available=[name not in self.away for name in self.partitions],
            epochs=[7] * len(self.partitions),
            positions=[9] * len(self.partitions),
            hosts=[len(self.state["compute"])] * len(self.partitions),
            alive=[0] * len(self.partitions),
            claims=[None if name in self.away else {"confirmed": 1} for name in self.partitions],
        )

    @exposed
    def remove_host(self, ctxt, host):
        self.removed.append(host)

    @exposed
    def get_host_state(self, ctxt, namespace, name):
        return self._read(namespace, name)

    @exposed
    def list_host_state(self, ctxt, namespace, marker=None, limit=1000, *, matching=None, partition=None):
        wanted = dict(matching or {})
        host = wanted.pop("host", None)
        known = [
            name
            for name, document in self.state[namespace].items()
            if partition in (None, self.where(name))
            and host in (None, name.partition("/")[0])
            and wanted.items() <= document.items()
        ]
        found, following = page_of(sorted(known), marker, limit)
        return objects.HostStatePage.of(states=[self._read(namespace, name) for name in found], marker=following)

    @exposed
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

    @exposed
    def delete_host_state(self, ctxt, namespace, name, version, writer):
        self.state[namespace].pop(name, None)

    @exposed
    def update_aggregates(self, ctxt, aggregates):
        for told in aggregates:
            held = self.state["aggregate"].get(told["id"], {})
            if self.overtakers:
                held = self.state["aggregate"][told["id"]] = self.overtakers.pop()
            if told["version"] > held.get("version", 0):
                self.state["aggregate"][told["id"]] = {key: value for key, value in told.items() if key != "id"}

    @exposed
    def delete_aggregate(self, ctxt, name, version=None):
        self.state["aggregate"].pop(name, None)

    @exposed
    def explain(self, ctxt, request_id):
        if request_id not in self.decisions:
            raise errors.UnknownDecision(request_id=request_id)
        return objects.Decision.of(request_id=request_id, partition="default", document=self.decisions[request_id])

    @exposed
    def dry_run(self, ctxt, spec, count=1):
        self.dry_runs.append((spec, count))
        return objects.Decision.of(request_id=ctxt.request_id, partition="default", document=self.decisions["dry run"])

    @exposed
    def list_filters(self, ctxt, kind=None):
        found = [each for each in self.filters if each["kinds"] == kind]
        columns = {name: [each[name] for each in found] for name in objects.FilterList.COLUMNS}
        return objects.FilterList.of(worker="s:0", **columns)

    @exposed
    def list_decisions(self, ctxt, partition=None, marker=None, limit=100):
        if partition not in (None, "default"):
            raise errors.UnknownPartition(partition=partition, known="default")
        found, following = page_of(sorted(self.decisions), marker, limit)
        page = [self.explain(ctxt, request_id=request_id) for request_id in found]
        return objects.DecisionPage.of(decisions=page, marker=following)


class Claims:
    """Live claims, and what verify finds."""

    def __init__(self, partition="default"):
        self.partition = partition
        self.claims = {}
        self.problems = []
        self.excess = []
        self.awaited = []
        self.fenced = []
        self.down = 0  # how many calls still find the store away

    def claim(self, consumer, host="host1/node1", state="confirmed", **values):
        self.claims[consumer] = {
            "consumer": consumer,
            "attempt": 1,
            "generation": 2,
            "type": "INSTANCE",
            "project": "p",
            "user": "u",
            "state": state,
            "host": host,
            "allocations": {host: {"VCPU": 2, "MEMORY_MB": 512}},
            "deadline_ms": None,
            "request_id": "req-1",
            "group_id": None,
            "alternates": ["host2"],
            "created_ms": 1_000,
        } | values

    @exposed
    def list_claims(self, ctxt, host=None, consumer=None, marker=None, limit=1000):
        known = sorted(
            each
            for each, claim in self.claims.items()
            if consumer in (None, each) and host in (None, claim["host"], claim["host"].partition("/")[0])
        )
        found, following = page_of(known, marker, limit)
        return objects.ClaimPage.of(claims=[self.claims[each] for each in found], marker=following)

    @exposed
    def verify(self, ctxt):
        if self.down:
            self.down -= 1
            raise errors.StoreUnavailable(why="it is being restarted")
        return objects.VerifyReport.of(
            partition=self.partition,
            epoch=7,
            position=9,
            claims={"confirmed": len(self.claims)},
            providers=1,
            problems=self.problems,
            excess=self.excess,
            awaited=self.awaited,
        )

    @exposed
    def fence_host(self, ctxt, host):
        if not any(host == claim["host"].partition("/")[0] for claim in self.claims.values()):
            raise errors.UnknownHost(name=host)
        self.fenced.append(host)
        return len(self.claims)


class Cluster:
    """All doubles, each on its topic."""

    def __init__(self):
        self.conductor = Conductor()
        self.scheduler = Scheduler()
        self.claims = Claims()
        self.claims2 = Claims("second")

    def reset(self):
        """Forget everything, behind the same endpoints."""
        for double in (self.conductor, self.scheduler, self.claims):
            double.__init__()
        self.claims2.__init__("second")

    def add_partition(self, *hosts):
        """Have a second partition, in which these hosts are."""
        self.scheduler.partitions = ["default", "second"]
        self.scheduler.homes = dict.fromkeys(hosts, "second")

    def endpoints(self):
        by_topic = {"conductor": self.conductor, "scheduler": self.scheduler, "claims.default": self.claims}
        by_topic["claims.second"] = self.claims2
        for topic, endpoint in by_topic.items():
            endpoint.target = messaging.Target(version="1.3")
            yield messaging.Target(topic=topic, server="one"), endpoint
