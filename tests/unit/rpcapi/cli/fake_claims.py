# SPDX-License-Identifier: Apache-2.0
"""A fake of the claims endpoint of a partition, backed by dictionaries."""

from rpcapi import errors, objects
from rpcapi.bounds import CollectionSize
from rpcapi.endpoint import expose
from tests.unit.rpcapi.cli.pages import page_of


class Claims:
    """Live claims, and the results of verify."""

    def __init__(self, partition="default"):
        self.partition = partition
        self.claims = {}
        self.problems = []
        self.excess = []
        self.awaited = []
        self.sizes = {"claims": CollectionSize(1, 1000, 100 << 20)}
        self.fenced = []
        self.hosts = set()  # known without claims
        self.replaced = []  # fenced with ``replace``
        self.down = 0  # remaining calls that fail because the store is down
        self.replicas_missing = False
        self.changes = []  # (position, kind, payload), after position 9 of epoch 7
        self.requested_kinds = []  # of each call of list_changes

    def change(self, kind, payload):
        self.changes.append((10 + len(self.changes), kind, payload))

    def claim(self, consumer, host="host1/node1", state="confirmed", **values):
        """Add the only claim of a consumer, or the destination of a move."""
        self.claims[consumer] = self._claim(consumer, host, state, values)

    def source(self, instance, migration="m", host="host2/node1", **values):
        """Add the claim at the source of an instance that moves."""
        roles = {"role": "source", "migration": migration, "type": "MIGRATION"}
        self.claims[migration] = self._claim(instance, host, "confirmed", roles | values)

    def end(self, refs):
        """End the claims of these attempts."""
        self.claims = {
            name: claim for name, claim in self.claims.items() if (claim["consumer"], claim["attempt"]) not in refs
        }

    @staticmethod
    def _claim(consumer, host, state, values):
        return {
            "consumer": consumer,
            "attempt": 1,
            "role": "only",
            "migration": None,
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
            "group_policy": None,
            "alternates": ["host2"],
            "created_ms": 1_000,
        } | values

    @expose
    def list_claims(self, ctxt, host=None, consumer=None, marker=None, limit=1000):
        names = sorted(
            name
            for name, claim in self.claims.items()
            if consumer in (None, name, claim["consumer"])
            and host in (None, claim["host"], claim["host"].partition("/")[0])
        )
        names_of_page, following = page_of(names, marker, limit)
        return objects.ClaimPage.of(claims=[self.claims[name] for name in names_of_page], marker=following)

    @expose
    def find_claims(self, ctxt, refs):
        if self.replicas_missing:
            store = f"The store of partition {self.partition!r}"
            raise errors.NotReplicated(store=store, acknowledged=0, needed=1, wait_ms=1000)
        columns = dict.fromkeys(("hosts", "deadlines_ms"), [None] * len(refs.consumers))
        unknown = ["unknown"] * len(refs.consumers)
        return objects.ClaimAnswers.of(
            consumers=refs.consumers, attempts=refs.attempts, answers=unknown, reasons=unknown, **columns
        )

    @expose
    def store_sizes(self, ctxt):
        return objects.StoreSizes.of_sizes(self.sizes)

    @expose
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

    @expose
    def list_changes(self, ctxt, epoch, position, kinds, limit=2):
        self.requested_kinds.append(kinds)
        page = [change for change in self.changes if change[0] > position][:2]
        end = page[-1][0] if page else position
        documents = [{"epoch": epoch, "position": at, "kind": kind, "payload": payload} for at, kind, payload in page]
        return objects.ChangePage.of(changes=documents, epoch=epoch, position=end, at_end=len(page) < 2)

    @expose
    def fence_host(self, ctxt, host, token, force, replace=False):
        if host not in self.hosts | {claim["host"].partition("/")[0] for claim in self.claims.values()}:
            raise errors.UnknownHost(name=host)
        (self.replaced if replace else self.fenced).append(host)
        return len(self.claims)
