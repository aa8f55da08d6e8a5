# SPDX-License-Identifier: Apache-2.0
"""Replies and the calls that wait for them."""

import sys
import time

import oslo_messaging
import pytest
from oslo_messaging._drivers import common

from rpcapi.messaging.drivers.replies import PendingReplies
from rpcapi.messaging.drivers.wire import WireReply


class OutOfPaper(Exception):
    """Raised when a printer has none."""


@pytest.fixture
def replies() -> PendingReplies:
    return PendingReplies([])


def failure(error: Exception) -> str:
    try:
        raise error
    except Exception:
        return common.serialize_remote_exception(sys.exc_info())


def is_conductor(user: str) -> bool:
    return user == "conductor"


def wait(replies: PendingReplies, *received: WireReply, seconds: float = 60.0, monitor: float | None = None) -> object:
    with replies.register("m", is_conductor) as reply_queue:
        for reply in received:
            replies.deliver(reply, "conductor")
        return replies.wait(reply_queue, "boot on compute", time.monotonic() + seconds, monitor)


def test_result_of_the_own_call_is_returned(replies: PendingReplies) -> None:
    assert wait(replies, WireReply("other", 1), WireReply("m", 2), WireReply("m", 3)) == 2


def test_result_may_be_none(replies: PendingReplies) -> None:
    assert wait(replies, WireReply("m", None)) is None


def test_heartbeats_are_no_results(replies: PendingReplies) -> None:
    heartbeat = WireReply("m", ending=False)
    assert wait(replies, heartbeat, heartbeat, WireReply("m", 2), monitor=30.0) == 2


def test_built_in_error_has_its_type(replies: PendingReplies) -> None:
    with pytest.raises(KeyError, match="x"):
        wait(replies, WireReply("m", failure=failure(KeyError("x"))))


def test_error_of_a_module_that_is_not_allowed_is_a_remote_error() -> None:
    text = failure(OutOfPaper("x"))
    with pytest.raises(oslo_messaging.RemoteError, match="OutOfPaper"):
        wait(PendingReplies([]), WireReply("m", failure=text))
    with pytest.raises(OutOfPaper):
        wait(PendingReplies([__name__]), WireReply("m", failure=text))


@pytest.mark.parametrize(
    ("seconds", "monitor", "why"),
    [(0.0, None, "no reply in time"), (60.0, 0.01, "no heartbeat from the server"), (0.0, 30.0, "no reply in time")],
)
def test_missing_reply_times_out_with_its_reason(
    replies: PendingReplies, seconds: float, monitor: float | None, why: str
) -> None:
    with pytest.raises(oslo_messaging.MessagingTimeout, match=f"^boot on compute: {why}"):
        wait(replies, WireReply("m", ending=False), seconds=seconds, monitor=monitor)


def test_late_reply_is_dropped(replies: PendingReplies) -> None:
    assert wait(replies, WireReply("m", 2)) == 2
    replies.deliver(WireReply("m", 3), "conductor")
    with replies.register("m", is_conductor) as reply_queue:
        assert reply_queue.empty()


def test_reply_of_a_user_who_was_not_called_is_dropped_and_logged_once(
    replies: PendingReplies, caplog: pytest.LogCaptureFixture
) -> None:
    with replies.register("m", is_conductor) as reply_queue:
        for value in (1, 2):
            replies.deliver(WireReply("m", value), "compute")
        replies.deliver(WireReply("m", 3), "conductor")
        assert reply_queue.get_nowait().result == 3
    assert caplog.text.count("Dropped a reply from user 'compute'") == 1
