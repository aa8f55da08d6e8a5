# SPDX-License-Identifier: Apache-2.0
"""Traits that must be there, of which one must be there, or that must not be there."""

from typing import Any

from rpcapi.model import vocabulary
from rpcapi.model.checks.text import check_list, check_texts, listed, refuse

MAX_TRAITS = 100  # of one group, all of its lists together
NOBODY = "no host can have that"


def check(required: Any, any_of: Any, forbidden: Any, whose: str = "") -> None:
    """Raise InvalidSpec or UnknownTrait for traits of one group that nobody can have, or that are none.

    ``any_of`` is a list of lists: of each, one must be there.
    """
    check_texts(f"the required traits{whose}", required, MAX_TRAITS)
    check_texts(f"the forbidden traits{whose}", forbidden, MAX_TRAITS)
    check_list(f"the any-of traits{whose}", any_of, MAX_TRAITS)
    for each in any_of:
        check_texts(f"an any-of list of traits{whose}", each, MAX_TRAITS)
        if not each:
            raise refuse(f"an any-of list of traits{whose} is empty: {NOBODY}")
    named = [*required, *forbidden, *(name for each in any_of for name in each)]
    if len(named) > MAX_TRAITS:
        raise refuse(f"it names more than {MAX_TRAITS} traits{whose}")
    for name in named:
        vocabulary.check_trait(name)
    _contradictions(required, any_of, forbidden, whose)


def _contradictions(required: Any, any_of: Any, forbidden: Any, whose: str) -> None:
    both = sorted(set(required) & set(forbidden))
    if both:
        raise refuse(f"it requires and forbids {listed(both)}{whose}: {NOBODY}")
    for each in any_of:
        if set(each) <= set(forbidden):
            raise refuse(f"it requires any of {listed(each)}{whose} and forbids them all: {NOBODY}")
