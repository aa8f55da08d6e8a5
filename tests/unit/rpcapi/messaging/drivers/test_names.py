# SPDX-License-Identifier: Apache-2.0
"""Redis keys of the bus."""

from rpcapi.messaging.drivers import names


def test_keys_of_different_things_differ() -> None:
    keys = [
        names.topic_queue("gantt", "compute"),
        names.server_queue("gantt", "compute", "h1"),
        names.fanout_members("gantt", "compute"),
        names.inbox("h1"),
        names.receipt(names.topic_queue("gantt", "compute"), "m1"),
        names.receipt(names.server_queue("gantt", "compute", "h1"), "m1"),
        names.receipt(names.topic_queue("gantt", "compute"), "m2"),
    ]
    assert len(set(keys)) == len(keys)


def test_keys_have_the_prefix_that_users_of_the_bus_may_access() -> None:
    queue = names.topic_queue("gantt", "compute")
    assert queue == "gantt_bus:topic:gantt:compute"
    for key in (queue, names.inbox("p"), names.fanout_members("e", "t"), names.receipt(queue, "m")):
        assert key.startswith("gantt_bus:")


def test_receipt_repeats_the_prefix_of_its_queue_not() -> None:
    assert names.receipt("gantt_bus:inbox:p", "m") == "gantt_bus:receipt:m::inbox:p"
