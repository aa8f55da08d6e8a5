# SPDX-License-Identifier: Apache-2.0
"""A whole worker publishes reported and written changes."""

import queue

import oslo_messaging as messaging

from tests.support.scheduler.rack_worker import RackWorker


class RecordingListener:
    """Records published notifications."""

    def __init__(self):
        self.events = queue.Queue()

    def info(self, ctxt, publisher_id, event_type, payload, metadata):
        self.events.put((event_type, payload))


def test_worker_publishes_if_enabled(tmp_path):
    schema = tmp_path / "rack.json"
    schema.write_text("{}")
    worker, received = RackWorker(schema), RecordingListener()
    worker.conf.set_override("enabled", True, group="host_state_notifications")
    transport = messaging.get_notification_transport(worker.conf, url="fake://")
    target = messaging.Target(topic="gantt_host_state")
    listener = messaging.get_notification_listener(transport, [target], [received], executor="threading")
    listener.start()
    worker.service.start()
    try:
        worker.join("west", ["west/1"])
        worker.publish("west", watts_free=1)
        notifications = [received.events.get(timeout=20)]
        while notifications[-1][0] != "host_state.state":
            notifications.append(received.events.get(timeout=20))
    finally:
        worker.service.stop()
        worker.service.wait()
        listener.stop()
        listener.wait()
    assert notifications[0][0] == "host_state.resync"
    assert {"host_state.provider", "host_state.service"} <= {event for event, _payload in notifications}
    assert notifications[-1][1]["payload"] == {"rack": {"west": {"watts_free": 1}}}
