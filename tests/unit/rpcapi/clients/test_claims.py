# SPDX-License-Identifier: Apache-2.0
"""Client of the claims service: topic, versions and arguments."""

import pytest

from rpcapi import context, objects
from rpcapi.clients.claims import ClaimsAPI

REFS = objects.ClaimRefs.of(consumers=["c"], attempts=[1])
PAGE = {"host": None, "consumer": None, "marker": None, "limit": 1000}


def test_topic_is_that_of_the_partition(sender, options):
    ClaimsAPI(options, None, "cell1")
    assert sender.target.topic == "claims.cell1"


@pytest.fixture
def call(sender, options):
    """Return a function that calls a method and returns its version and what was sent."""

    def call_method(method, arguments):
        getattr(ClaimsAPI(options, None, "cell1"), method)(context.new(), **arguments)
        return sender.prepared["version"], sender.sent

    return call_method


@pytest.mark.parametrize(
    ("method", "arguments", "version", "values"),
    [
        ("prepare_claims", {"intents": "intents"}, "1.0", {"intents": "intents"}),
        ("confirm_claims", {"host": "h", "refs": REFS}, "1.0", {"host": "h", "refs": REFS}),
        ("abort_claims", {"refs": REFS}, "1.0", {"refs": REFS, "host": None, "destinations": None}),
        ("release_claims", {"host": "h", "refs": REFS}, "1.0", {"host": "h", "refs": REFS}),
        ("list_claims", {}, "1.0", PAGE),
        ("list_claims", {"consumer": "c", "limit": 1}, "1.0", PAGE | {"consumer": "c", "limit": 1}),
        ("list_prepared_claims", {"limit": 2}, "1.0", {"limit": 2}),
        ("audit_host", {"report": "report"}, "1.0", {"report": "report"}),
        ("verify", {}, "1.0", {}),
        ("find_claims", {"refs": REFS}, "1.0", {"refs": REFS}),
        ("vouch_for_claims", {"host": "h", "refs": REFS}, "1.0", {"host": "h", "refs": REFS}),
        (
            *("fence_host", {"host": "h", "token": "t"}, "1.0"),
            {"host": "h", "token": "t", "force": False, "replace": False},
        ),
    ],
)
def test_method_is_called_with_its_version_and_arguments(call, method, arguments, version, values):
    assert call(method, arguments) == (version, [("call", method, values)])
