# SPDX-License-Identifier: Apache-2.0
"""Fake of the scheduler's endpoint, backed by dictionaries."""

from rpcapi import errors, objects
from rpcapi.clients.served_versions import served_versions
from rpcapi.endpoint import expose
from tests.unit.rpcapi.cli.pages import page_of


class Scheduler:
    """Host state, decisions and partitions."""

    def __init__(self):
        self.state = {"compute": {}, "service": {}, "aggregate": {}, "placement": {}, "flavor": {}, "image": {}}
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
        self.leaks = []  # claims for Nova without an instance
        self.groups = {}

    @expose
    def audit_nova(self, ctxt, *, fix=False, marker=None, limit=1000):
        first = int(marker or 0)
        following = str(first + 2) if first + 2 < len(self.leaks) else None
        return objects.NovaAudit.of(
            leaks=[leak | {"ended": fix} for leak in self.leaks[first : first + 2]], marker=following
        )

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
        defaults["rpc_versions"] = served_versions(binary)
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
            raise errors.UnknownNamespace(namespace=namespace, choices=", ".join(self.state))
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

    def group(self, name, policy="affinity", project="default", **values):
        """Add a server group whose id is its name."""
        self.groups[name] = objects.ServerGroup.of(id=name, name=name, project=project, policy=policy, **values)

    @expose
    def create_server_group(self, ctxt, group):
        self.groups[group.id] = group
        return group

    @expose
    def get_server_group(self, ctxt, group_id, project=None):
        if group_id not in self.groups:
            raise errors.NotFound(what=f"Server group {group_id}")
        return self.groups[group_id]

    @expose
    def list_server_groups(self, ctxt, marker=None, limit=1000, *, project=None):
        names = sorted(name for name, group in self.groups.items() if project in (None, group.project))
        page, following = page_of(names, marker, limit)
        return objects.ServerGroupPage.of(groups=[self.groups[name] for name in page], marker=following)

    @expose
    def delete_server_group(self, ctxt, group_id):
        del self.groups[group_id]

    @expose
    def list_catalog(self, ctxt, kind, marker=None, limit=1000):
        return self.list_host_state(ctxt, namespace=kind, marker=marker, limit=limit)

    @expose
    def update_host_state(self, ctxt, state, writer):
        self.writers.append(writer)
        present = self.state[state.namespace].get(state.name)
        is_catalog = state.namespace in ("flavor", "image")
        if state.version == 0 and is_catalog and present not in (None, _without_nulls(state.document)):
            raise errors.VersionConflict(what=state.name, version=1, expected=0)
        if state.version == 0:
            self.state[state.namespace].setdefault(state.name, {})
        read = self._read(state.namespace, state.name)
        if self.conflicts:
            self.conflicts -= 1
            self.versions[state.namespace, state.name] = read.version + 1
            raise errors.VersionConflict(what=state.name, version=read.version + 1, expected=state.version)
        merged = self.state[state.namespace][state.name] | state.document
        self.state[state.namespace][state.name] = _without_nulls(merged) if is_catalog else merged
        return self._read(state.namespace, state.name)

    @expose
    def delete_host_state(self, ctxt, namespace, name, version, writer):
        self.state[namespace].pop(name, None)

    @expose
    def update_aggregates(self, ctxt, aggregates, *, force=False):
        for update in aggregates:
            document = self.state["aggregate"].get(update["id"], {})
            if self.concurrent_updates:
                document = self.state["aggregate"][update["id"]] = self.concurrent_updates.pop()
            if update["version"] > document.get("version", 0):
                self.state["aggregate"][update["id"]] = {key: value for key, value in update.items() if key != "id"}

    @expose
    def delete_aggregate(self, ctxt, name, version=None, *, force=False):
        self.state["aggregate"].pop(name, None)

    @expose
    def explain(self, ctxt, request_id):
        if request_id not in self.decisions:
            raise errors.UnknownDecision(request_id=request_id)
        return objects.Decision.of(request_id=request_id, partition="default", document=self.decisions[request_id])

    @expose
    def dry_run(self, ctxt, spec, count, scope):
        self.dry_runs.append((spec, count))
        return objects.Decision.of(request_id=ctxt.request_id, partition="default", document=self.decisions["dry run"])

    @expose
    def list_filters(self, ctxt, kind=None):
        rows = [row for row in self.filters if row["kinds"] == kind]
        columns = {name: [row[name] for row in rows] for name in set(objects.FilterList.fields) - {"worker"}}
        return objects.FilterList.of(worker="s:0", **columns)

    @expose
    def list_decisions(self, ctxt, partition=None, marker=None, limit=100):
        if partition not in (None, "default"):
            raise errors.UnknownPartition(partition=partition, choices="default")
        names_of_page, following = page_of(sorted(self.decisions), marker, limit)
        page = [self.explain(ctxt, request_id=request_id) for request_id in names_of_page]
        return objects.DecisionPage.of(decisions=page, marker=following)


def _without_nulls(document):
    """Return a document as it is stored: a null removes its key."""
    return {key: value for key, value in document.items() if value is not None}
