# SPDX-License-Identifier: Apache-2.0
"""The host table is independent of how entries arrive: late, twice, or after a snapshot that contains them."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler.hosts import EPOCH, child_provider, describe, node, provider, snapshot

NAMES = ("a/1", "a/2", "b/1", "c", "a/1/x", "a/1/x/y")
HOSTS = ("a", "b", "c")
CLASSES = ("VCPU", "CUSTOM_GPU")

nodes = st.builds(
    node,
    st.dictionaries(
        st.sampled_from(CLASSES), st.builds(Inventory, total=st.integers(0, 9), step_size=st.integers(1, 2))
    ),
    st.lists(st.sampled_from(("CUSTOM_X", "CUSTOM_Y")), unique=True),
    st.sampled_from((None, "az1", "az2")),
)
children = st.builds(
    child_provider,
    st.sampled_from(("a/1", "a/1/x")),
    st.sampled_from(("a/1", "a/2")),
    st.dictionaries(st.sampled_from(CLASSES), st.integers(0, 9)),
    st.lists(st.sampled_from(("CUSTOM_X", "CUSTOM_Y")), unique=True),
)
aggregates = st.none() | st.lists(st.sampled_from((*NAMES, "a")), max_size=3).map(lambda hosts: {"hosts": hosts})
amounts = st.fixed_dictionaries({resource_class: st.integers(0, 9) for resource_class in CLASSES})
changes = st.one_of(
    st.tuples(st.just("provider"), st.dictionaries(st.sampled_from(NAMES), nodes, min_size=1, max_size=3)).map(
        lambda change: (change[0], {name: provider(name, node_document) for name, node_document in change[1].items()})
    ),
    st.tuples(st.just("provider"), st.dictionaries(st.sampled_from(NAMES[4:]), children, min_size=1, max_size=2)).map(
        lambda change: (change[0], {name: provider(name, node_document) for name, node_document in change[1].items()})
    ),
    st.tuples(st.just("state"), st.just("aggregate"), st.sampled_from(("g", "h")), aggregates).map(
        lambda change: (change[0], {change[1]: {change[2]: change[3]}})
    ),
    st.tuples(st.just("gone"), st.lists(st.sampled_from(NAMES), min_size=1, max_size=2)),
    st.tuples(st.just("used"), st.dictionaries(st.sampled_from(NAMES), amounts, min_size=1, max_size=3)),
    st.tuples(
        st.just("service"),
        st.dictionaries(st.sampled_from(HOSTS), st.booleans().map(lambda on: {"enabled": on}), min_size=1),
    ),
    st.tuples(st.just("alive"), st.dictionaries(st.sampled_from(HOSTS), st.booleans(), min_size=1)),
    st.tuples(
        st.just("opened"), st.dictionaries(st.sampled_from(HOSTS), st.sampled_from((EPOCH, EPOCH + 1)), min_size=1)
    ),
    st.tuples(st.just("epoch"), st.just(EPOCH + 1)),
)
DEPARTED = ("x/1", "x/2", "x/3", "y")  # hosts whose rows were freed before
READS = {"aggregate": frozenset({"hosts", "metadata"})}
FIRST = {"a/1": node(), "c": node(zone="az1")}


def log_entries(changes_drawn):
    return [LogEntry(101 + number, kind, payload) for number, (kind, payload) in enumerate(changes_drawn)]


def apply_all(entries):
    table = HostTable.from_snapshot(snapshot(FIRST), reads=READS)
    for entry in entries:
        table.apply(entry)
    return table


@settings(max_examples=200, deadline=None)
@given(st.lists(changes, max_size=25), st.lists(st.sampled_from(DEPARTED), unique=True), nodes)
def test_reused_rows_have_nothing_of_their_former_hosts(changes_drawn, departed, document):
    table = HostTable(reads=READS)
    table.load(snapshot({**FIRST, **dict.fromkeys(departed, document)}))
    table.load(snapshot(FIRST))
    entries = log_entries(changes_drawn)
    for entry in entries:
        table.apply(entry)
    assert describe(table) == describe(apply_all(entries))
    assert len(table.names) <= max(len(FIRST) + len(departed), len(table.partitions[0].rows))


@settings(max_examples=200, deadline=None)
@given(st.lists(changes, min_size=5, max_size=25), st.integers(0, 2**32))
def test_order_and_repetition_do_not_matter(changes_drawn, seed):
    entries = log_entries(changes_drawn)
    shuffled = [*entries, *entries]
    random.Random(seed).shuffle(shuffled)
    in_order, out_of_order = apply_all(entries), apply_all(shuffled)
    assert describe(out_of_order) == describe(in_order)
    assert out_of_order.partitions[0].position == in_order.partitions[0].position


@settings(max_examples=200, deadline=None)
@given(st.lists(changes, max_size=25), st.lists(st.tuples(st.sampled_from(NAMES), amounts), max_size=6))
def test_sums_applied_ahead_of_the_log_end_equal_to_the_log(changes_drawn, early):
    """Sums applied ahead of the log are kept until an entry of the same or a later position has that provider."""
    last = 101 + len(changes_drawn)
    entries = [
        *log_entries(changes_drawn),
        *(LogEntry(last + n, "used", {name: used}) for n, (name, used) in enumerate(early)),
    ]
    table = HostTable.from_snapshot(snapshot(FIRST), reads=READS)
    for number, (name, used) in enumerate(early):
        table.apply_used({name: used}, last + number)
    for entry in entries:
        table.apply(entry)
    assert describe(table) == describe(apply_all(entries))
