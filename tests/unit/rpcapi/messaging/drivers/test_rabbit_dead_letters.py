# SPDX-License-Identifier: Apache-2.0
"""The outbox of dead letters: it delays nobody, is bounded, and rests after a failure."""

import threading

import oslo_messaging
import pytest

from rpcapi.messaging.drivers import rabbit_dead_letters
from rpcapi.messaging.drivers.dead_letters import MAX_LETTERS, DeadLetter
from rpcapi.messaging.drivers.rabbit_dead_letters import DeadLetterOutbox
from tests.support.bus.bus_peer import WAIT_SECONDS, eventually


class Broker:
    """Records letters while its gate is open, and raises its errors first."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.letters: list[str] = []
        self.tries = 0
        self.gate = threading.Event()
        self.gate.set()

    def publish(self, letter: DeadLetter) -> None:
        self.tries += 1
        assert self.gate.wait(WAIT_SECONDS)
        if self.errors:
            raise self.errors.pop(0)
        self.letters.append(letter.queue)


def letter(queue: str) -> DeadLetter:
    return DeadLetter(queue, "reason", 1, "x", 0)


def test_letters_are_published_in_order_and_later_ones_too() -> None:
    broker = Broker()
    outbox = DeadLetterOutbox(broker.publish)
    for number in range(3):
        outbox.add(letter(f"q{number}"))
    eventually(lambda: broker.letters == ["q0", "q1", "q2"], "all are published")
    outbox.add(letter("later"))
    eventually(lambda: broker.letters[3:] == ["later"], "the later one is published too")


def test_the_oldest_are_forgotten_while_the_broker_hangs() -> None:
    broker = Broker()
    broker.gate.clear()
    outbox = DeadLetterOutbox(broker.publish)
    outbox.add(letter("first"))
    eventually(lambda: broker.tries, "the first is being published")
    for number in range(MAX_LETTERS + 5):
        outbox.add(letter(f"q{number}"))
    broker.gate.set()
    newest = [f"q{number}" for number in range(5, MAX_LETTERS + 5)]
    eventually(lambda: broker.letters == ["first", *newest], "the newest are published")


@pytest.mark.parametrize("error", [oslo_messaging.MessageDeliveryFailure("away"), OSError("reset"), LookupError("bug")])
def test_letters_are_dropped_for_a_while_after_a_failure(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(rabbit_dead_letters.time, "monotonic", lambda: clock[0])
    broker = Broker(error)
    outbox = DeadLetterOutbox(broker.publish)
    outbox.add(letter("failed"))
    eventually(lambda: outbox._next_try > clock[0], "the outbox rests")
    outbox.add(letter("dropped"))
    clock[0] += rabbit_dead_letters.PAUSE
    outbox.add(letter("kept"))
    outbox._pool.shutdown()
    assert (broker.letters, broker.tries) == (["kept"], 2)


def test_letters_that_wait_are_dropped_with_the_one_that_failed() -> None:
    broker = Broker(OSError("reset"))
    broker.gate.clear()
    outbox = DeadLetterOutbox(broker.publish)
    for number in range(3):
        outbox.add(letter(f"q{number}"))
    broker.gate.set()
    outbox._pool.shutdown()
    assert (broker.letters, broker.tries) == ([], 1)


def test_closed_outbox_publishes_nothing() -> None:
    broker = Broker()
    outbox = DeadLetterOutbox(broker.publish)
    outbox.close()
    outbox.add(letter("q"))
    outbox._pool.shutdown()
    assert not broker.tries
