# SPDX-License-Identifier: Apache-2.0
"""Delayed imports of a command."""

import subprocess
import sys

SCRIPT = """
import sys
from rpcapi.cli import delayed_imports
delayed_imports.install()
import rfc3986
from oslo_utils import strutils
assert "rfc3986.misc" not in sys.modules
assert rfc3986.is_valid_uri("http://a/b")
assert "rfc3986.misc" in sys.modules
assert strutils.mask_password("password=x") == "password=***"
import redis
import rpcapi.messaging.drivers.redis_bus
assert redis.Redis and redis.sentinel.Sentinel and redis.RedisCluster
assert "redis.asyncio.client" not in sys.modules
print("done")
"""


def test_delayed_module_is_imported_at_its_first_use():
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, timeout=60)
    assert run.stdout == "done\n", run.stderr
