# SPDX-License-Identifier: Apache-2.0
"""Errors as one-line messages."""

import oslo_messaging as messaging
import pytest

from rpcapi import errors
from rpcapi.admin.error_messages import describe_error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (errors.UnknownInstance(uuid="u"), "No instance u is recorded"),
        (
            messaging.MessagingTimeout("Timed out\nTraceback"),
            "No reply in time: is the cluster up, and is this its configuration? (Timed out)",
        ),
        (
            messaging.RemoteError("KeyError", "'x'", ["Traceback"]),
            "Internal error of the service: KeyError: 'x'; see its log",
        ),
        (messaging.MessageDeliveryFailure("refused"), "The message bus cannot be used: refused"),
        (ValueError("first\nsecond"), "ValueError: first (use --debug for a traceback)"),
        (OSError(), "OSError: OSError (use --debug for a traceback)"),
    ],
)
def test_error_is_described_in_one_line(error, message):
    assert describe_error(error) == message
