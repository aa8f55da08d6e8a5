# SPDX-License-Identifier: Apache-2.0
"""How long those who listen to RabbitMQ wait between two looks, and that they go on whatever comes."""

import threading
from types import SimpleNamespace

import pytest
from oslo_messaging._drivers import amqpdriver, common

from rpcapi.drivers.rabbit_listening import FIRST_WAIT, LONGEST_WAIT, CalmListener, CalmReplyWaiter


class Connection:
    """Stands in for the driver's; notes how long it is listened to, and does what ``answers`` say, then is silent."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.waits = []
        self.seen = threading.Event()
        self.go_on = threading.Event()

    def declare_direct_consumer(self, topic, callback):
        """Accept."""

    def stop_consuming(self):
        """Accept."""

    def consume(self, timeout):
        self.waits.append(timeout)
        if len(self.waits) == 12:
            self.seen.set()
            self.go_on.wait(10)
        answer = self.answers.pop(0) if self.answers else common.Timeout()
        if answer is not None:
            raise answer


def test_answers_are_waited_for_without_hurry_and_faults_are_survived():
    # Given silence, an answer, a fault, and silence again
    connection = Connection(common.Timeout(), common.Timeout(), None, LookupError("odd"), common.Timeout())
    waiter = CalmReplyWaiter("replies", connection, [])
    assert connection.seen.wait(10)
    connection.go_on.set()
    waiter.stop()
    # Then the waits grow only while nothing comes
    first = FIRST_WAIT
    assert connection.waits[:6] == pytest.approx([first, 2 * first, 4 * first, first, first, 2 * first])
    assert max(connection.waits) == LONGEST_WAIT


def test_a_server_never_waits_for_a_millisecond_only():
    listener = CalmListener(driver=SimpleNamespace(prefetch_size=1), conn=None)
    # When the stock listener starts, or has just received a message
    assert listener._current_timeout == FIRST_WAIT
    listener._current_timeout = amqpdriver.ACK_REQUEUE_EVERY_SECONDS_MIN
    assert listener._current_timeout == FIRST_WAIT
    # Then its longer waits are its own
    listener._current_timeout = 3.2
    assert listener._current_timeout == 3.2
