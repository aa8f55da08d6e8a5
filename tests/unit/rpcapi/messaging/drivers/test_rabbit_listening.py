# SPDX-License-Identifier: Apache-2.0
"""Poll intervals and error handling of the RabbitMQ listeners."""

import contextlib
import threading
from types import SimpleNamespace

import oslo_messaging
import pytest
from oslo_messaging._drivers import amqp, amqpdriver, common

from rpcapi.messaging.drivers.rabbit_listening import (
    FIRST_WAIT,
    LONGEST_WAIT,
    PromptIncomingMessage,
    RabbitListener,
    RabbitReplyWaiter,
)


class Connection:
    """A fake of the driver's connection; records wait times, plays ``answers``, then stays silent."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.waits = []
        self.polled = threading.Event()
        self.resume = threading.Event()

    def declare_direct_consumer(self, topic, callback):
        """Accept."""

    def stop_consuming(self):
        """Accept."""

    def consume(self, timeout):
        self.waits.append(timeout)
        if len(self.waits) == 12:
            self.polled.set()
            self.resume.wait(10)
        answer = self.answers.pop(0) if self.answers else common.Timeout()
        if answer is not None:
            raise answer


def test_reply_waits_double_while_idle_and_errors_do_not_stop_the_reader():
    # Given: silence, a reply, an error, and silence again
    connection = Connection(common.Timeout(), common.Timeout(), None, LookupError("odd"), common.Timeout())
    waiter = RabbitReplyWaiter("replies", connection, [])
    assert connection.polled.wait(10)
    connection.resume.set()
    waiter.stop()
    # Then: the waits grow only while nothing arrives
    first = FIRST_WAIT
    assert connection.waits[:6] == pytest.approx([first, 2 * first, 4 * first, first, first, 2 * first])
    assert max(connection.waits) == LONGEST_WAIT


def test_listener_never_polls_with_short_waits():
    listener = RabbitListener(driver=SimpleNamespace(prefetch_size=1), conn=None)
    # When: the stock listener starts, or has just received a message
    assert listener._current_timeout == FIRST_WAIT
    listener._current_timeout = amqpdriver.ACK_REQUEUE_EVERY_SECONDS_MIN
    assert listener._current_timeout == FIRST_WAIT
    # Then: longer waits are unchanged
    listener._current_timeout = 3.2
    assert listener._current_timeout == 3.2


@pytest.mark.parametrize(
    "error", [oslo_messaging.MessageUndeliverable(None, None, None, None), amqp.AMQPDestinationNotFound("exchange")]
)
def test_answer_to_a_caller_that_is_gone_is_tried_once(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    attempts = []

    def direct_send(queue: str, text: str) -> None:
        attempts.append(queue)
        raise error

    connection = contextlib.nullcontext(SimpleNamespace(direct_send=direct_send))
    listener = SimpleNamespace(driver=SimpleNamespace(_get_connection=lambda purpose: connection))
    obsolete_queues = amqpdriver.ObsoleteReplyQueuesCache()
    message = PromptIncomingMessage(listener, {}, {}, "u", "id", "reply_gone", None, obsolete_queues, None)
    for _ in range(2):
        message.reply(1)
    assert attempts == ["reply_gone"] * 2, "a queue that a restart of the broker removed may be back"
    assert [record.exc_info for record in caplog.records] == [None, None]


class Message(dict):
    """A fake of a received message."""

    def __init__(self, number):
        super().__init__(_unique_id=str(number))
        self._raw_message = SimpleNamespace(properties={})
        self.acknowledged = False

    def acknowledge(self):
        self.acknowledged = True


def test_message_that_arrives_after_the_stop_stays_the_brokers():
    # Given a listener that has taken over a message
    listener = RabbitListener(driver=SimpleNamespace(prefetch_size=1), conn=Connection())
    listener(Message(1))
    assert not listener.is_closing
    # When it has stopped, after it returned that message
    listener._shutdown.set()
    assert len(listener.poll()) == 1
    assert not listener.poll()
    # Then its consumer does not acknowledge a message that arrives while its connection closes
    assert listener.is_closing
