# SPDX-License-Identifier: Apache-2.0
"""Names of unverified claims."""

import pytest

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.store.unverified import consumer_of, unverified_name


def test_name_gives_its_consumer_back() -> None:
    assert consumer_of(unverified_name("c1", 12, "h1")) == "c1"
    assert consumer_of("c1") == "c1"


def test_names_differ_by_consumer_attempt_and_host() -> None:
    distinct = {
        unverified_name(*parts) for parts in [("c1", 1, "h1"), ("c1", 1, "h2"), ("c1", 2, "h1"), ("c2", 1, "h1")]
    }
    assert len(distinct) == 4


def test_no_consumer_can_have_such_a_name() -> None:
    with pytest.raises(errors.InvalidName):
        names.canonical(unverified_name("c1", 1, "h1"))
