# SPDX-License-Identifier: Apache-2.0
"""Validation of required, any-of and forbidden traits."""

from typing import Any

from rpcapi.resources import vocabulary
from rpcapi.validation.text import check_list, check_texts, invalid_spec, join_names

MAX_TRAITS = 100  # per group, over all its lists
UNSATISFIABLE = "no host can satisfy that"


def check(required: Any, any_of: Any, forbidden: Any, qualifier: str = "") -> None:
    """Raise InvalidSpec or UnknownTrait for bad traits; a provider must have one of each list in ``any_of``."""
    check_texts(f"the required traits{qualifier}", required, MAX_TRAITS)
    check_texts(f"the forbidden traits{qualifier}", forbidden, MAX_TRAITS)
    check_list(f"the any-of traits{qualifier}", any_of, MAX_TRAITS)
    for alternatives in any_of:
        check_texts(f"an any-of list of traits{qualifier}", alternatives, MAX_TRAITS)
        if not alternatives:
            raise invalid_spec(f"an any-of list of traits{qualifier} is empty: {UNSATISFIABLE}")
    trait_names = [*required, *forbidden, *(name for alternatives in any_of for name in alternatives)]
    if len(trait_names) > MAX_TRAITS:
        raise invalid_spec(f"it names more than {MAX_TRAITS} traits{qualifier}")
    for name in trait_names:
        vocabulary.check_trait(name)
    _contradictions(required, any_of, forbidden, qualifier)


def _contradictions(required: Any, any_of: Any, forbidden: Any, qualifier: str) -> None:
    contradictory = sorted(set(required) & set(forbidden))
    if contradictory:
        raise invalid_spec(f"it requires and forbids {join_names(contradictory)}{qualifier}: {UNSATISFIABLE}")
    for alternatives in any_of:
        if set(alternatives) <= set(forbidden):
            raise invalid_spec(
                f"it requires one of {join_names(alternatives)}{qualifier}, but forbids all: {UNSATISFIABLE}"
            )
