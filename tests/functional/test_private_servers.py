# SPDX-License-Identifier: Apache-2.0
"""Private servers start, are killed, restart with their data, and refuse what is not a user's business."""


def test_the_shared_servers_answer(redis_server, rabbit_node, conf):
    assert redis_server.client().ping()
    assert rabbit_node.url().startswith("rabbit://admin:")
    assert conf.project == "gantt"
