# SPDX-License-Identifier: Apache-2.0
"""The import of oslo.messaging for a command."""

import subprocess
import sys

SCRIPT = """
import sys
from rpcapi.cli import client_imports
client_imports.import_messaging()
import oslo_messaging.rpc.client
brought = [name for name in ("eventlet", "cotyledon", "oslo_log.log", "oslo_service.service") if name in sys.modules]
assert not brought, brought
from oslo_log import log
assert log.KeywordArgumentAdapter, "a later import gets the real module"
import eventlet
from rpcapi.messaging import bus
print("done")
"""


def test_import_brings_no_module_of_servers_and_leaves_later_imports_alone():
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, timeout=60)
    assert run.stdout == "done\n", run.stderr
