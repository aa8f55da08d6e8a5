# SPDX-License-Identifier: Apache-2.0
"""Validation of server groups."""

import pytest

from rpcapi import errors
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.validation import server_group


@pytest.mark.parametrize(
    ("group_id", "policy", "max_per_host"),
    [(None, None, 1), ("web", "anti-affinity", 3), ("db", "affinity", 1), ("x", "soft-affinity", 1)],
)
def test_valid_group_passes(group_id, policy, max_per_host):
    server_group.check(group_id, policy, max_per_host)


@pytest.mark.parametrize(
    ("group_id", "policy", "max_per_host", "error_class", "sentence"),
    [
        ("g", None, 1, errors.InvalidSpec, "both its id and its policy"),
        (None, "affinity", 1, errors.InvalidSpec, "both its id and its policy"),
        ("g", "apart", 1, errors.InvalidSpec, "known: affinity, anti-affinity"),
        ("g", "anti-affinity", 0, errors.InvalidSpec, "max per host"),
        ("g", "anti-affinity", MAX_AMOUNT + 1, errors.InvalidSpec, "max per host"),
        ("g", "affinity", 2, errors.InvalidSpec, "allowed for anti-affinity only, not for affinity"),
        ("a b", "affinity", 1, errors.InvalidName, "space"),
    ],
)
def test_invalid_group_is_refused_with_the_reason(group_id, policy, max_per_host, error_class, sentence):
    with pytest.raises(error_class) as caught:
        server_group.check(group_id, policy, max_per_host)
    assert sentence in caught.value.sentence
