# SPDX-License-Identifier: Apache-2.0
"""Who belongs to which aggregate, whatever came first: the host, its document, or the partition."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from scheduler_svc.store.records import Entry
from scheduler_svc.table.table import HostTable
from tests.unit.scheduler_svc import hosts

READS = {"aggregate": frozenset({"hosts", "metadata"})}
PARTITIONS = ("p", "q")
MEMBERS = st.sampled_from(("h", "h/1", "h/2", "i", "i/1", "pool"))
NODES = st.sampled_from(("h/1", "h/2", "i/1", "pool"))
NAMES = st.sampled_from(("fast", "gold", "az"))
DOCUMENTS = st.none() | st.fixed_dictionaries(
    {"hosts": st.lists(MEMBERS, unique=True, max_size=4)},
    optional={"metadata": st.dictionaries(st.sampled_from(("availability_zone", "ssd")), st.sampled_from("xy"))},
)


class AggregateMachine(RuleBasedStateMachine):
    """Entries of two partitions in any order, beside a plain model of what was told."""

    def __init__(self):
        super().__init__()
        self.table = HostTable(PARTITIONS, READS)
        self.position = 0
        self.told = ({}, {})
        self.nodes = ({}, {})

    @rule(number=st.sampled_from((0, 1)), name=NAMES, document=DOCUMENTS)
    def tell(self, number, name, document):
        self._apply(number, "state", {"aggregate": {name: document}})
        self.told[number].pop(name, None)
        if document is not None:
            self.told[number][name] = document

    @rule(number=st.sampled_from((0, 1)), name=NODES, zone=st.sampled_from((None, "x", "z")))
    def report(self, number, name, zone):
        self._apply(number, "provider", {name: hosts.provider(name, hosts.node(zone=zone))})
        self.nodes[number][name] = zone

    @rule(number=st.sampled_from((0, 1)))
    def load_anew(self, number):
        snapshot = hosts.snapshot({name: hosts.node(zone=zone) for name, zone in self.nodes[number].items()})
        self.position = max(self.position, snapshot.position)
        states = {"aggregate": self.told[number]}
        fresh = type(snapshot)(**{name: getattr(snapshot, name) for name in snapshot.__slots__} | {"states": states})
        self.table.load(fresh, number)

    @invariant()
    def rows_belong_to_what_was_told(self):
        with self.table.reading() as view:
            for number, nodes in enumerate(self.nodes):
                for name, reported in nodes.items():
                    row, found = view.row(name, number), self._of(name)
                    assert view.aggregates.of_row(row) == found
                    zones = {zone for each in found if (zone := self._metadata(each).get("availability_zone"))}
                    for zone in "xyz":
                        expected = zone in zones if zones else zone == reported
                        assert bool(view.in_zone(zone)[row]) == expected, (zone, name)
            for key in ("availability_zone", "ssd"):
                every = {name: self._metadata(name) for name in view.aggregates.names}
                assert view.aggregates.having(key) == {name: its[key] for name, its in every.items() if key in its}

    def _of(self, name):
        names = {name, name.partition("/")[0]}
        return {each for told in self.told for each, document in told.items() if names & set(document["hosts"])}

    def _metadata(self, name):
        first, second = (told.get(name, {}).get("metadata", {}) for told in self.told)
        return second | first

    def _apply(self, number, kind, payload):
        self.position += 1
        self.table.apply(Entry(self.position + 1000, kind, payload), number)


TestAggregates = AggregateMachine.TestCase
TestAggregates.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
