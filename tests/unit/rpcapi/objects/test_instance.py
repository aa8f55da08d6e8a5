# SPDX-License-Identifier: Apache-2.0
"""Instances for older peers."""

import pytest

from rpcapi import objects


@pytest.mark.parametrize(("version", "has_name"), [("1.0", False), ("1.1", True)])
def test_older_peer_gets_no_name(version, has_name):
    texts = dict.fromkeys(("uuid", "request_id", "project_id", "user_id", "status"), "x")
    instance = objects.Instance.of(**texts, attempt=1, created_ms=1, updated_ms=1, name="web")
    assert ("name" in instance.obj_to_primitive(target_version=version)["gantt_object.data"]) is has_name
