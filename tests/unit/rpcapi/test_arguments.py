# SPDX-License-Identifier: Apache-2.0
"""A call with the wrong arguments is told so before the method runs."""

from typing import Any

import pytest

from rpcapi import errors, objects
from rpcapi.arguments import Arguments
from rpcapi.model import names


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
    Arguments(Endpoint.work).check(Endpoint(), None, values)


@pytest.mark.parametrize(
    "more",
    [{}, {"host": None}, {"host": "h"}, {"limit": 3, "deep": True}, {"name": ["h", "n"]}, {"anything": object()}],
)
def test_what_fits_passes(more):
    check(**GOOD | more)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"refs": REFS}, "call of work: missing a required argument: 'uuids'"),
        (GOOD | {"more": 1}, "unexpected keyword argument 'more'"),
        (GOOD | {"refs": {}}, "refs is of type dict, not ClaimRefs"),
        (GOOD | {"refs": objects.ClaimPage.of(claims=[])}, "refs is of type ClaimPage, not ClaimRefs"),
        (GOOD | {"uuids": "abc"}, "uuids is of type str, not list"),
        (GOOD | {"host": 7}, "host is of type int, not str or NoneType"),
        (GOOD | {"limit": True}, "limit is of type bool, not int"),
        (GOOD | {"limit": None}, "limit is of type NoneType, not int"),
        (GOOD | {"deep": 1}, "deep is of type int, not bool"),
        (GOOD | {"name": {"h": "n"}}, "name is of type dict, not str or Sequence"),
    ],
)
def test_what_does_not_is_malformed_and_says_which(values, sentence):
    with pytest.raises(errors.MalformedObject) as caught:
        check(**values)
    assert sentence in caught.value.sentence
