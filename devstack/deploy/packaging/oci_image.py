# SPDX-License-Identifier: Apache-2.0
"""OCI image of all services, from the Debian packages: `tox -e image`. debootstrap needs root."""

import argparse
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from devstack.deploy.packaging import checkout
from devstack.deploy.packaging.programs import PackagingError, run

RELEASE = "bookworm"
MIRROR = os.environ.get("GANTT_DEBIAN_MIRROR", "http://deb.debian.org/debian")
INCLUDED = "ca-certificates,python3"
USER = 64000  # Debian reserves 60000 to 64999
PATH = "/opt/gantt/bin:/usr/local/bin:/usr/bin:/bin"
REMOVED = ("var/cache/apt", "var/lib/apt/lists", "var/log", "usr/share/man", "usr/share/locale", "usr/share/info")
ACCOUNTS = {"passwd": f"gantt:x:{USER}:{USER}:gantt:/nonexistent:/usr/sbin/nologin", "group": f"gantt:x:{USER}:"}


def build(package: Path, layout: Path, source: Path = checkout.ROOT) -> str:
    """Build the image from package gantt-common in the new OCI layout ``layout``, and return its tag."""
    version = run("dpkg-deb", "--field", package, "Version").strip().rpartition("-")[0].replace("~", "")
    with tempfile.TemporaryDirectory() as work:
        root = Path(work) / "root"
        make_root(root, package)
        run("umoci", "init", "--layout", layout)
        image = f"{layout}:{version}"
        run("umoci", "new", "--image", image)
        run("umoci", "insert", "--image", image, root, "/")
    revision = run("git", "-C", source, "rev-parse", "HEAD").strip()
    labels = {"title": "gantt", "version": version, "revision": revision, "licenses": "Apache-2.0"}
    run(
        *("umoci", "config", "--image", image, f"--config.user={USER}:{USER}", f"--config.env=PATH={PATH}"),
        *("--config.workingdir=/", "--config.stopsignal=SIGTERM", "--config.cmd=gantt", "--config.cmd=--help"),
        *(f"--config.label=org.opencontainers.image.{name}={value}" for name, value in labels.items()),
        *("--architecture", run("dpkg", "--print-architecture").strip(), "--os", "linux"),
    )
    run("umoci", "gc", "--layout", layout)
    return version


def make_root(root: Path, package: Path) -> None:
    """Create the image's root: a minimal Debian with Python and the package, without setuid programs."""
    run("debootstrap", "--variant=minbase", f"--include={INCLUDED}", RELEASE, root, MIRROR)
    shutil.copy(package, root / "gantt-common.deb")
    run("chroot", root, "dpkg", "--install", "/gantt-common.deb", env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    (root / "gantt-common.deb").unlink()
    for name in REMOVED:
        shutil.rmtree(root / name)
        (root / name).mkdir()
    for name, line in ACCOUNTS.items():
        with (root / "etc" / name).open("a") as file:
            file.write(f"{line}\n")
    for path in root.rglob("*"):
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
            path.chmod(stat.S_IMODE(mode) & ~(stat.S_ISUID | stat.S_ISGID))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="image", description="Build the OCI image of gantt.")
    parser.add_argument("--debian", type=Path, default=Path("dist/debian"), help="the packages (default: dist/debian)")
    parser.add_argument("--output", type=Path, default=Path("dist/oci"), help="the OCI layout (default: dist/oci)")
    options = parser.parse_args(arguments)
    try:
        if options.output.exists():
            raise PackagingError(f"{options.output} exists; remove it, or name another folder")
        packages = [*options.debian.glob("gantt-common_*.deb")]
        if len(packages) != 1:
            raise PackagingError(
                f"{options.debian} must contain one package gantt-common, but contains {len(packages)}"
            )
        options.output.parent.mkdir(parents=True, exist_ok=True)
        tag = build(packages[0], options.output)
    except PackagingError as why:
        print(why, file=sys.stderr)
        return 1
    print(f"{options.output}:{tag}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
