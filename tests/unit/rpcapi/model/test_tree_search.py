# SPDX-License-Identifier: Apache-2.0
"""What searches in provider trees cost, in steps, and what they tell of what they found."""

from rpcapi.model.groups import RequestGroup
from rpcapi.model.tree_search import Miss, Steps, first, retraced, search
from rpcapi.model.trees import Provider, Stock, Tree, Wanted

GPU = "CUSTOM_GPU"


def gpus(count, used=0, capacity=1):
    root = Provider("h", None, {"VCPU": Stock(16), "MEMORY_MB": Stock(65536)})
    cards = [Provider(f"h/gpu{n}", "h", {GPU: Stock(capacity, used=capacity * (n < used))}) for n in range(count)]
    return Tree([root, *cards])


def asking(groups, policy="isolate", amount=1):
    wanted = [RequestGroup("", {"VCPU": 1, "MEMORY_MB": 512})]
    return Wanted([*wanted, *(RequestGroup(f"_{n}", {GPU: amount}) for n in range(groups))], policy)


def test_alike_groups_on_alike_providers_are_placed_without_a_step_back():
    for policy in ("isolate", "none"):
        for groups in (5, 8):
            steps = Steps()
            found = first(gpus(8), asking(groups, policy), steps)
            assert len(found.allocations) == groups + 1
            assert Steps().left - steps.left == groups + 2


def test_where_one_is_too_few_no_step_is_taken():
    for policy in ("isolate", "none"):
        steps = Steps()
        assert first(gpus(8, used=1), asking(8, policy), steps) is Miss.NONE
        assert steps.left == Steps().left


def test_isolated_groups_that_share_too_few_providers_are_seen_without_a_step():
    steps = Steps()
    assert first(gpus(4, capacity=4), asking(5), steps) is Miss.NONE
    assert steps.left == Steps().left
    assert first(gpus(4, capacity=4), asking(5, "none"), steps).allocations["h/gpu0"] == {GPU: 4}


def test_permutations_of_alike_groups_and_providers_are_not_tried():
    assert len(list(search(gpus(8), asking(5), Steps()))) == 1
    # How many of five groups are on the first card, the second and so on: the compositions of five, not 8 ** 5 ways.
    assert len(list(search(gpus(8, capacity=6), asking(5, "none"), Steps()))) == 16


def test_a_mark_keeps_providers_apart():
    tree = gpus(3)
    marked = [Provider(each.id, each.parent, each.stocks, mark=each.id) for each in tree.providers]
    found = [each.providers["_0"] for each in search(Tree(marked), asking(1), Steps())]
    assert found == [("h/gpu0",), ("h/gpu1",), ("h/gpu2",)]


def test_groups_of_one_subtree_are_placed_below_one_provider():
    """Given two cells with a card each and room for processors in the second only, then the second's card is taken."""
    cells = [Provider(f"h/numa{n}", "h", {"VCPU": Stock(4, used=4 * (n == 0))}) for n in range(2)]
    cards = [Provider(f"h/numa{n}/pci", f"h/numa{n}", {GPU: Stock(1)}) for n in range(2)]
    wanted = Wanted([RequestGroup("_c", {"VCPU": 2}), RequestGroup("_p", {GPU: 1})], "none", (), (), (("_c", "_p"),))
    found = first(Tree([Provider("h"), *cells, *cards]), wanted, Steps())
    assert found.providers == {"_c": ("h/numa1",), "_p": ("h/numa1/pci",)}


def test_a_request_that_asks_nothing_of_the_group_without_a_suffix_is_judged_by_the_root():
    tree = Tree([Provider("h", None, {}, frozenset({"CUSTOM_A"})), Provider("h/g", "h", {GPU: Stock(1)})])
    card = RequestGroup("_g", {GPU: 1})
    assert first(tree, Wanted([RequestGroup("", required=("CUSTOM_A",)), card]), Steps()).providers == {"_g": ("h/g",)}
    assert first(tree, Wanted([RequestGroup("", required=("CUSTOM_B",)), card]), Steps()) is Miss.NONE


def test_an_allocation_with_other_amounts_than_were_asked_is_nobodys():
    assert not list(retraced(gpus(2), asking(1), {"h": {"VCPU": 1}, "h/gpu0": {GPU: 1}}, Steps()))


def test_what_a_provider_elsewhere_gave_is_told_too():
    tree = Tree([Provider("h", None, {"VCPU": Stock(1)})])
    wanted = Wanted([RequestGroup("", {"VCPU": 1, "DISK_GB": 5}, required=("CUSTOM_SSD",), member_of=(("agg",),))])
    (found,) = retraced(tree, wanted, {"h": {"VCPU": 1}, "pool": {"DISK_GB": 5}}, Steps())
    assert found.providers == {"": ("h", "pool")}


def test_the_steps_of_searches_that_share_them_are_all_there_are():
    steps = Steps(10)
    assert first(gpus(8), asking(8), steps) is not Miss.STEPS
    assert first(gpus(8), asking(8), steps) is Miss.STEPS
    assert steps.spent
