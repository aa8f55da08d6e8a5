# SPDX-License-Identifier: Apache-2.0
"""Error messages of the command."""

import oslo_messaging as messaging
import pytest

from rpcapi import errors
from rpcapi.cli.error_messages import describe_error


def test_unanswered_call_is_one_line(cluster, gantt, config_file):
    cluster.scheduler.partitions = ["nobody"]
    config_file.write_text(
        "[DEFAULT]\ntransport_url = fake://\ncontrol_exchange = shell\n[rpc]\npartition = nobody\ncall_timeout = 0.1\n"
    )
    result = gantt("claim", "verify")
    assert result.code == 1
    assert result.err.splitlines()[-1].startswith("No reply in time: is the cluster up")
    assert "Traceback" not in result.err


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
            "The service failed on this request: KeyError: 'x'; see its log",
        ),
        (messaging.MessageDeliveryFailure("refused"), "The message bus cannot be used: refused"),
        (ValueError("first\nsecond"), "ValueError: first (use --debug for a traceback)"),
        (OSError(), "OSError: OSError (use --debug for a traceback)"),
    ],
)
def test_error_is_described_in_one_line(error, message):
    assert describe_error(error) == message
