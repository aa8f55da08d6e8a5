# SPDX-License-Identifier: Apache-2.0
"""The health of a process."""

import pytest

from rpcapi import errors


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_process_is_ready_without_a_token(api, method):
    assert api.call(method, "/healthz", user=None).status == 200


def test_process_without_a_store_is_not_ready(api, monkeypatch):
    def fail(epoch, position):
        raise errors.StoreUnavailable(why="it is being restarted")

    monkeypatch.setattr(api.store, "begin_epoch_if_behind", fail)
    answer = api.call("GET", "/healthz", user=None)
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert answer.error["code"] == "placement.undefined_code"
