# SPDX-License-Identifier: Apache-2.0
"""A repeated message is one that the bus driver does not recognise as repeated."""

import json

from oslo_messaging._drivers import common

from devstack.lab.chaos.faults.messages import _with_new_id


def unique_id(body: str) -> str:
    """Return the id by which oslo.messaging recognises a message."""
    return str(json.loads(json.loads(body)["oslo.message"])["_unique_id"])


def test_copy_has_another_id_and_the_same_content() -> None:
    message = {"method": "confirm_claims", "_unique_id": "0" * 32, "args": {}}
    body = json.dumps(common.serialize_msg(message))
    copy = _with_new_id(body)
    assert unique_id(copy) != unique_id(body) and len(unique_id(copy)) == 32
    assert copy.replace(unique_id(copy), "0" * 32) == body
    assert _with_new_id("no message of the bus") == "no message of the bus"
