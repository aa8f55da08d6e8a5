# SPDX-License-Identifier: Apache-2.0
"""Validation of call arguments before the method runs."""

from typing import Any

import pytest

from rpcapi import errors, objects
from rpcapi.endpoint import ArgumentChecker
from rpcapi.resources import names


class Endpoint:
    def work(
        self,
        ctxt: Any,
        *,
        refs: objects.ClaimRefs,
        uuids: list[str],
        host: str | None = None,
        limit: int = 1,
        deep: bool = False,
        name: names.ResourceName = "h",
        anything: Any = None,
    ) -> None: ...


REFS = objects.ClaimRefs.of(consumers=[], attempts=[])
GOOD = {"refs": REFS, "uuids": []}


def check(**values):
    ArgumentChecker(Endpoint.work).check(Endpoint(), None, values)


@pytest.mark.parametrize(
    "values",
    [{}, {"host": None}, {"host": "h"}, {"limit": 3, "deep": True}, {"name": ["h", "n"]}, {"anything": object()}],
)
def test_valid_arguments_pass(values):
    check(**GOOD | values)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"refs": REFS}, "call of work: missing a required argument: 'uuids'"),
        (GOOD | {"more": 1}, "unexpected keyword argument 'more'"),
        (GOOD | {"refs": {}}, "refs must be of type ClaimRefs, not dict"),
        (GOOD | {"refs": objects.ClaimPage.of(claims=[])}, "refs must be of type ClaimRefs, not ClaimPage"),
        (GOOD | {"uuids": "abc"}, "uuids must be of type list, not str"),
        (GOOD | {"host": 7}, "host must be of type str or NoneType, not int"),
        (GOOD | {"limit": True}, "limit must be of type int, not bool"),
        (GOOD | {"limit": None}, "limit must be of type int, not NoneType"),
        (GOOD | {"deep": 1}, "deep must be of type bool, not int"),
        (GOOD | {"name": {"h": "n"}}, "name must be of type str or Sequence, not dict"),
    ],
)
def test_invalid_argument_is_malformed_with_its_name(values, sentence):
    with pytest.raises(errors.MalformedObject) as caught:
        check(**values)
    assert sentence in caught.value.sentence
