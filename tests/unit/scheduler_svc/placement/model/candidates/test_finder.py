# SPDX-License-Identifier: Apache-2.0
"""Allocation candidates from a table."""

import itertools

import pytest

from rpcapi.resources.groups import ISOLATE, NONE, RequestGroup
from rpcapi.resources.inventory import Inventory
from rpcapi.resources.trees.tree import SHARING_TRAIT, TreeRequest
from scheduler_svc.core.records import LogEntry
from scheduler_svc.placement.model.candidates import contents, finder
from scheduler_svc.placement.model.candidates.finder import DEFAULT_LIMITS, CandidateFinder, SearchLimits
from scheduler_svc.placement.model.candidates.request import CandidateRequest
from scheduler_svc.placement.model.problems import Problem
from tests.support.scheduler.hosts import child_provider, node, provider, table

ONE = TreeRequest([RequestGroup("", {"VCPU": 1})])
CARD = "CUSTOM_CARD"


class Fresh:
    """A replica that has everything."""

    def require(self):
        return 0


class Clock:
    """A clock that advances by a second whenever it is read; ``events`` are called at the reading of that number."""

    def __init__(self, events=None):
        self.readings = itertools.count()
        self.events = events or {}

    def __call__(self):
        number = next(self.readings)
        self.events.get(number, lambda: None)()
        return float(number)


def nodes(count, *cards):
    """Return hosts of 4 VCPU; each has children with these numbers of cards."""
    documents = {}
    for number in range(count):
        documents[f"h{number}"] = node({"VCPU": 4})
        for card, amount in enumerate(cards):
            documents[f"h{number}/c{card}"] = child_provider(f"h{number}", f"h{number}", {CARD: amount})
    return documents


def find(hosts, request=ONE, *, limits=DEFAULT_LIMITS, clock=Clock, **fields):
    finder = CandidateFinder(hosts, Fresh(), limits, clock())
    return finder.find(CandidateRequest(request, **fields), finder.deadline())


def ids(parts):
    """Return the ids of providers that were read in parts."""
    return [name for part in parts for name in part.ids]


def classes(parts):
    """Return capacity and usage of each class by provider."""
    return {
        name: {
            resource_class: (int(capacity), int(used))
            for resource_class, capacity, used in zip(
                part.legend.classes, part.capacities[:, index], part.used[:, index], strict=True
            )
            if capacity != contents.NO_INVENTORY
        }
        for part in parts
        for index, name in enumerate(part.ids)
    }


def roots(answer):
    """Return the roots of all candidates, in their order."""
    return [*ids(answer.bare_roots), *(min(candidate.allocations) for candidate in answer.candidates)]


def cards(groups, policy=NONE, amount=1):
    return TreeRequest([RequestGroup(f"_{number}", {CARD: amount}) for number in range(groups)], policy)


@pytest.mark.parametrize("below", [(), (1,)])
def test_limit_selects_roots_by_the_seed(below):
    hosts = table(nodes(40, *below))
    selections = [roots(find(hosts, limit=10, seed=seed)) for seed in ("a", "a", "b")]
    assert selections[0] == selections[1] != selections[2]
    assert all(len(set(selection)) == 10 for selection in selections)
    assert sorted(roots(find(hosts))) == sorted(f"h{number}" for number in range(40))


def test_each_root_comes_before_the_second_candidate_of_any():
    hosts = table(nodes(5, 1, 1, 1))
    answer = find(hosts, cards(1), limit=7)
    first = [min(candidate.allocations).partition("/")[0] for candidate in answer.candidates]
    assert len(set(first[:5])) == 5
    assert len(first) == 7


def test_hosts_whose_agents_are_down_or_disabled_are_candidates():
    hosts = table(nodes(2))
    hosts.apply(LogEntry(101, "alive", {"h0": False}))
    hosts.apply(LogEntry(102, "service", {"h1": {"enabled": False}}))
    assert ids(find(hosts).bare_roots) == ["h0", "h1"]


def test_usage_counts_for_a_root_alone_and_for_all_its_groups_together():
    hosts = table(nodes(3), {"h0": {"VCPU": 1}, "h1": {"VCPU": 2}, "h2": {"VCPU": 4}})
    both = TreeRequest([RequestGroup("", {"VCPU": 2}), RequestGroup("_a", {"VCPU": 1})])
    assert ids(find(hosts).bare_roots) == ["h0", "h1"]
    assert ids(find(hosts, both).bare_roots) == ["h0"]


def test_groups_together_obey_max_unit():
    hosts = table({"a": node({"VCPU": Inventory(8, max_unit=3)}), "b": node({"VCPU": Inventory(8, max_unit=4)})})
    request = TreeRequest([RequestGroup(f"_{n}", {"VCPU": 2}) for n in range(2)], NONE)
    assert ids(find(hosts, request).bare_roots) == ["b"]


def test_bare_root_does_not_isolate_groups():
    hosts = table(nodes(1))
    request = TreeRequest([RequestGroup("_a", {"VCPU": 1}), RequestGroup("_b", {"VCPU": 1})], ISOLATE)
    assert not roots(find(hosts, request))


def test_a_candidate_of_shared_storage_alone_is_found_once():
    documents = nodes(3, 1) | {"pool": node({"DISK_GB": 100}, [SHARING_TRAIT])}
    documents = {name: document | {"aggregates": ["rack"]} for name, document in documents.items()}
    hosts = table(documents)
    answer = find(hosts, TreeRequest([RequestGroup("", {"DISK_GB": 1})]))
    assert [candidate.allocations for candidate in answer.candidates] == [{"pool": {"DISK_GB": 1}}]
    assert ids(answer.providers) == ["pool"]
    both = find(hosts, TreeRequest([RequestGroup("", {"DISK_GB": 1, "VCPU": 1})]))
    assert sorted(map(sorted, (candidate.allocations for candidate in both.candidates))) == [
        ["h0", "pool"],
        ["h1", "pool"],
        ["h2", "pool"],
    ]
    assert set(ids(both.providers)) == {"pool", *(name for n in range(3) for name in (f"h{n}", f"h{n}/c0"))}


def test_provider_below_a_root_shares_with_other_trees():
    disk = child_provider("store", "store", {"DISK_GB": 100}, [SHARING_TRAIT])
    documents = {
        "store": node({"VCPU": 1}),
        "store/disk": disk | {"aggregates": ["rack"]},
        "h0": node({"VCPU": 4}) | {"aggregates": ["rack"]},
        "h1": node({"VCPU": 4}),
    }
    answer = find(table(documents), TreeRequest([RequestGroup("", {"DISK_GB": 1, "VCPU": 1})]))
    assert sorted(map(sorted, (candidate.allocations for candidate in answer.candidates))) == [
        ["h0", "store/disk"],
        ["store", "store/disk"],
    ]
    assert set(ids(answer.providers)) == {"h0", "store", "store/disk"}
    in_tree = TreeRequest([RequestGroup("_d", {"DISK_GB": 1}, in_tree="store"), RequestGroup("", {"VCPU": 4})])
    assert [sorted(item.allocations) for item in find(table(documents), in_tree).candidates] == [["h0", "store/disk"]]


def test_sharing_providers_of_one_tree_are_related_where_they_share():
    shelf = child_provider("store", "store", {"VGPU": 1}, [SHARING_TRAIT]) | {"aggregates": ["rack"]}
    plain = child_provider("store/shelf", "store", {"VGPU": 1})
    disk = child_provider("store/shelf/slot", "store", {"DISK_GB": 100}, [SHARING_TRAIT]) | {"aggregates": ["rack"]}
    documents = {
        **{"store/shelf/slot/disk": disk, "store/shelf/slot": plain, "store/shelf": shelf, "store": node({"VCPU": 1})},
        **{"h0": node({"VCPU": 4}) | {"aggregates": ["rack"]}},
    }
    groups = [RequestGroup("_a", {"VGPU": 1}), RequestGroup("_b", {"DISK_GB": 1}), RequestGroup("", {"VCPU": 4})]
    request = TreeRequest(groups, NONE, same_subtree=(("_a", "_b"),))
    (candidate,) = find(table(documents), request).candidates
    assert candidate.providers == {"_a": ("store/shelf",), "_b": ("store/shelf/slot/disk",), "": ("h0",)}


def test_client_without_trees_gets_single_providers_of_them():
    hosts = table(nodes(1, 1))
    both = TreeRequest([RequestGroup("", {"VCPU": 1, CARD: 1})])
    assert roots(find(hosts, both))
    assert not roots(find(hosts, both, nested=False))
    alone = find(hosts, cards(1), nested=False)
    assert [candidate.allocations for candidate in alone.candidates] == [{"h0/c0": {CARD: 1}}]
    assert ids(alone.providers) == ["h0/c0"]


def test_summary_has_inventories_that_are_reserved_as_a_whole():
    hosts = table({"a": node({"VCPU": 4, "DISK_GB": Inventory(10, reserved=10)}), "b": node({"MEMORY_MB": 1})})
    assert classes(find(hosts).bare_roots) == {"a": {"VCPU": (4, 0), "DISK_GB": (0, 0)}}


def test_no_query_gets_more_than_the_largest_number():
    hosts = table(nodes(3, 2, 2))
    limits = SearchLimits(max_candidates=5)
    for limit in (None, 1000):
        assert len(find(hosts, cards(3), limits=limits, limit=limit).candidates) == 5


def test_search_that_takes_too_long_ends_with_503_or_what_was_found():
    hosts = table(nodes(2, *[8] * 8))
    limits = SearchLimits(max_candidates=10**6, timeout_s=30.0)
    with pytest.raises(Problem, match="within 30 s") as caught:
        find(hosts, cards(8), limits=limits)
    assert caught.value.status == 503
    assert 0 < len(find(hosts, cards(8), limits=limits, limit=10**6).candidates) < 10**6
    with pytest.raises(Problem):
        find(hosts, cards(8), limits=SearchLimits(timeout_s=0.5), limit=5)


@pytest.mark.parametrize("limit", [None, 2])
def test_what_is_found_too_late_to_be_read_ends_with_503(limit):
    # The search ends in time: the clock is read for the deadline, once for its steps, and then before the read
    with pytest.raises(Problem, match="within 2 s") as caught:
        find(table(nodes(2)), limits=SearchLimits(timeout_s=2.0), limit=limit, clock=lambda: late_clock(2))
    assert caught.value.status == 503
    assert roots(find(table(nodes(2)), limits=SearchLimits(timeout_s=2.0), clock=lambda: late_clock(3)))


def late_clock(readings):
    """Return a clock that stands still for some readings, and then is late."""
    return map(float, itertools.chain(itertools.repeat(0, readings), itertools.repeat(10**6))).__next__


@pytest.mark.parametrize("below", [(), (1,)])
def test_provider_that_is_deleted_during_the_search_is_no_candidate(below):
    hosts = table(nodes(40, *below))
    events = {1: lambda: hosts.apply(LogEntry(101, "gone", ["h39", *(["h39/c0"] if below else [])]))}
    answer = find(hosts, clock=lambda: Clock(events))
    assert sorted(roots(answer)) == sorted(f"h{number}" for number in range(39))
    assert sorted(ids([*answer.bare_roots, *answer.providers])) == sorted(
        name for number in range(39) for name in (f"h{number}", *([f"h{number}/c0"] if below else []))
    )
    hosts.apply(LogEntry(102, "provider", {"h39": provider("h39", node({"VCPU": 4}))}))
    assert len(roots(find(hosts))) == 40


def test_nothing_is_lost_where_trees_are_more_than_are_read_or_searched_at_a_time(monkeypatch):
    monkeypatch.setattr(finder, "READ_TREES", 2)
    monkeypatch.setattr(finder, "MAX_SUSPENDED", 3)
    monkeypatch.setattr(contents, "MAX_ROOTS", 2)
    hosts = table(nodes(9, 1, 2, 3))
    answer = find(hosts, cards(1))
    expected = {f"h{number}/c{card}": card + 1 for number in range(9) for card in range(3)}
    assert sorted(name for candidate in answer.candidates for name in candidate.allocations) == sorted(expected)
    capacities = {
        name: inventories[CARD][0] for name, inventories in classes(answer.providers).items() if CARD in inventories
    }
    assert (len(ids(answer.providers)), capacities) == (9 * 4, expected)
    assert len(find(hosts, cards(1), limit=11).candidates) == 11


def test_root_that_is_deleted_before_its_tree_is_read_is_left_out():
    hosts = table(nodes(3, 1))
    events = {1: lambda: hosts.apply(LogEntry(101, "gone", ["h1", "h1/c0"]))}
    answer = find(hosts, cards(1), clock=lambda: Clock(events))
    assert sorted(name for candidate in answer.candidates for name in candidate.allocations) == ["h0/c0", "h2/c0"]
    assert sorted(ids(answer.providers)) == ["h0", "h0/c0", "h2", "h2/c0"]
