# SPDX-License-Identifier: Apache-2.0
"""Messages as the channel of the embedded bus decodes them."""

import base64
import gzip

from rpcapi.messaging.drivers.redis_channel import BusChannel


def test_compressed_body_stays_compressed() -> None:
    # Given a body that would be a thousand times as large, which its sender may put into a queue
    compressed = gzip.compress(bytes(1 << 20))
    raw_message = {
        "body": base64.b64encode(compressed).decode(),
        "headers": {"compression": "application/x-gzip"},
        "properties": {"delivery_tag": "tag", "delivery_info": {}, "body_encoding": "base64"},
        "content-type": "application/json",
        "content-encoding": "utf-8",
    }
    assert BusChannel.__new__(BusChannel).message_to_python(raw_message).body == compressed
