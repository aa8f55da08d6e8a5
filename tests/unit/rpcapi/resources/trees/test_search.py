# SPDX-License-Identifier: Apache-2.0
"""Steps and results of searches in provider trees."""

import itertools

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.numa.cells import HostCell
from rpcapi.resources.numa.fit import NumaConditions
from rpcapi.resources.numa.topology import GuestCell, GuestTopology
from rpcapi.resources.trees.search import NoCandidateReason, StepBudget, find_first, search
from rpcapi.resources.trees.tree import Provider, ProviderInventory, ProviderTree, TreeRequest

GPU = "CUSTOM_GPU"


def gpus(count, used=0, capacity=1):
    root = Provider("h", None, {"VCPU": ProviderInventory(16), "MEMORY_MB": ProviderInventory(65536)})
    cards = [
        Provider(f"h/gpu{n}", "h", {GPU: ProviderInventory(capacity, used=capacity * (n < used))}) for n in range(count)
    ]
    return ProviderTree([root, *cards])


def requesting(groups, policy="isolate", amount=1):
    unsuffixed = [RequestGroup("", {"VCPU": 1, "MEMORY_MB": 512})]
    return TreeRequest([*unsuffixed, *(RequestGroup(f"_{n}", {GPU: amount}) for n in range(groups))], policy)


def test_equal_groups_on_equivalent_providers_are_placed_without_backtracking():
    for policy in ("isolate", "none"):
        for groups in (5, 8):
            steps = StepBudget()
            candidate = find_first(gpus(8), requesting(groups, policy), steps)
            assert len(candidate.allocations) == groups + 1
            assert StepBudget().remaining - steps.remaining == groups + 2


def test_no_step_is_used_when_one_provider_is_missing():
    for policy in ("isolate", "none"):
        steps = StepBudget()
        assert find_first(gpus(8, used=1), requesting(8, policy), steps) is NoCandidateReason.NONE
        assert steps.remaining == StepBudget().remaining


def test_no_step_is_used_when_isolated_groups_have_too_few_providers():
    steps = StepBudget()
    assert find_first(gpus(4, capacity=4), requesting(5), steps) is NoCandidateReason.NONE
    assert steps.remaining == StepBudget().remaining
    assert find_first(gpus(4, capacity=4), requesting(5, "none"), steps).allocations["h/gpu0"] == {GPU: 4}


def test_permutations_of_equal_groups_and_providers_are_pruned():
    assert len(list(search(gpus(8), requesting(5), StepBudget()))) == 1
    # The numbers of groups on the first card, the second and so on: the compositions of five, not 8 ** 5.
    assert len(list(search(gpus(8, capacity=6), requesting(5, "none"), StepBudget()))) == 16


def test_all_permutations_are_yielded_without_pruning():
    pairs = [
        candidate.providers["_0"] + candidate.providers["_1"]
        for candidate in search(gpus(3), requesting(2), StepBudget(), prune=False)
    ]
    assert sorted(pairs) == sorted(itertools.permutations(("h/gpu0", "h/gpu1", "h/gpu2"), 2))
    assert len(list(search(gpus(3, capacity=2), requesting(2, "none"), StepBudget(), prune=False))) == 9


def test_symmetry_keys_make_providers_distinct():
    tree = gpus(3)
    marked = [Provider(card.id, card.parent, card.inventories, symmetry_key=card.id) for card in tree.providers]
    cards = [candidate.providers["_0"] for candidate in search(ProviderTree(marked), requesting(1), StepBudget())]
    assert cards == [("h/gpu0",), ("h/gpu1",), ("h/gpu2",)]


def test_groups_of_same_subtree_are_placed_below_one_provider():
    """Given two cells with a card each and free VCPU in the second only, the card of the second is allocated."""
    cells = [Provider(f"h/numa{n}", "h", {"VCPU": ProviderInventory(4, used=4 * (n == 0))}) for n in range(2)]
    cards = [Provider(f"h/numa{n}/pci", f"h/numa{n}", {GPU: ProviderInventory(1)}) for n in range(2)]
    request = TreeRequest(
        [RequestGroup("_c", {"VCPU": 2}), RequestGroup("_p", {GPU: 1})], "none", (), (), (("_c", "_p"),)
    )
    candidate = find_first(ProviderTree([Provider("h"), *cells, *cards]), request, StepBudget())
    assert candidate.providers == {"_c": ("h/numa1",), "_p": ("h/numa1/pci",)}


def test_unsuffixed_group_without_resources_is_checked_on_the_root():
    tree = ProviderTree(
        [Provider("h", None, {}, frozenset({"CUSTOM_A"})), Provider("h/g", "h", {GPU: ProviderInventory(1)})]
    )
    card = RequestGroup("_g", {GPU: 1})
    assert find_first(tree, TreeRequest([RequestGroup("", required=("CUSTOM_A",)), card]), StepBudget()).providers == {
        "_g": ("h/g",)
    }
    assert (
        find_first(tree, TreeRequest([RequestGroup("", required=("CUSTOM_B",)), card]), StepBudget())
        is NoCandidateReason.NONE
    )


def test_searches_share_a_step_budget():
    steps = StepBudget(10)
    assert find_first(gpus(8), requesting(8), steps) is not NoCandidateReason.UNDECIDED
    assert find_first(gpus(8), requesting(8), steps) is NoCandidateReason.UNDECIDED
    assert steps.exhausted


def test_states_that_cannot_be_completed_are_searched_once():
    """Of eight groups each provider takes one, and there are seven: subsets are tried, not all orders of the groups."""
    providers = [Provider(f"h/{n}", "h", {GPU: ProviderInventory(95 + n)}) for n in range(7)]
    groups = [RequestGroup(f"_{n}", {GPU: 51 + n}) for n in range(8)]
    steps = StepBudget(500)
    tree = ProviderTree([Provider("h"), *providers])
    assert find_first(tree, TreeRequest(groups, "none"), steps) is NoCandidateReason.NONE


def test_groups_that_compete_for_few_providers_need_no_step():
    """Given room for all groups together, but not for those with a trait."""
    cards = [
        Provider(f"h/{n}", "h", {GPU: ProviderInventory(4)}, frozenset(["CUSTOM_FAST"] if n else [])) for n in range(2)
    ]
    groups = [
        *(RequestGroup(f"_fast{n}", {GPU: 2}, required=("CUSTOM_FAST",)) for n in range(2)),
        RequestGroup("_larger", {GPU: 1}, required=("CUSTOM_FAST",)),
        RequestGroup("_any", {GPU: 1}),
    ]
    steps = StepBudget(0)
    tree = ProviderTree([Provider("h"), *cards])
    assert find_first(tree, TreeRequest(groups, "none"), steps) is NoCandidateReason.NONE


def test_topology_with_a_cell_that_no_group_requests_has_no_candidate():
    numa = NumaConditions(GuestTopology((GuestCell(0, "_numa0", (), (0,)),)), {"h": HostCell(0, "h", cores=((0,),))})
    assert find_first(gpus(1), requesting(1), StepBudget(), numa) is NoCandidateReason.NONE
