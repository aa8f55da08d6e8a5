# SPDX-License-Identifier: Apache-2.0
"""Debian packages from gantt's wheel and lock: `tox -e debian`, on the target release of Debian."""

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from devstack.deploy.packaging import changelog, checkout, distribution, documentation, lock, versions
from devstack.deploy.packaging.distribution import Distribution
from devstack.deploy.packaging.programs import PackagingError, run

PYTHON = "/usr/bin/python3"
SERVICES = ("scheduler", "conductor", "compute", "placement", "nova-bridge", "dashboard")
UNITS = Path("devstack/deploy/systemd")
TEMPLATE = Path("devstack/deploy/packaging/debian")
SAMPLE = Path("devstack/deploy/etc/gantt.conf.sample")
SHARED_KINDS = ("postinst", "prerm", "postrm", "lintian-overrides")
UNIT_FOLDER = "lib/systemd/system"
SUPPRESSED = "initial-upload-closes-no-bugs"  # the packages are in no Debian archive
MAINTAINER = "gantt contributors <maintainers@gantt.example.org>"
CHANGES = """gantt ({version}) unstable; urgency=medium

  * Release {upstream}; its changes are in /usr/share/doc/gantt-common.

 -- {maintainer}  {date}
"""


def build(built: Distribution, folder: Path, revision: int = 1, source: Path = checkout.ROOT) -> list[Path]:
    with tempfile.TemporaryDirectory() as parent:
        tree = Path(parent) / "gantt"
        prepare(tree, built, revision, source)
        lock.download(tree / "wheels", tree / "lock.txt", PYTHON)
        run("dpkg-buildpackage", "--build=binary", "--unsigned-changes", "--unsigned-buildinfo", cwd=tree)
        packages = sorted(Path(parent).glob("*.deb"))
        return [Path(shutil.copy(package, folder)) for package in packages]


def prepare(tree: Path, built: Distribution, revision: int, source: Path) -> None:
    shutil.copytree(source / TEMPLATE, tree / "debian")
    (tree / "dist").mkdir()
    shutil.copy(built.wheel, tree / "dist")
    shutil.copy(source / lock.PATH, tree / "lock.txt")
    (tree / distribution.CHANGELOG).write_bytes(built.changelog)
    for path in (source / SAMPLE, source / "README.md", *(source / UNITS).iterdir()):
        shutil.copy(path, tree)
    _write_changelog(tree / "debian" / "changelog", built.version, revision, checkout.commit_time(source))
    for name in SERVICES:
        _write_service(tree, f"gantt-{name}")
    common = _lines((tree / "gantt.tmpfiles").read_text(), "/etc/gantt")
    (tree / "debian" / "gantt-common.tmpfiles").write_text(common)
    (tree / "debian" / "gantt-common.install").write_text(f"gantt.target {UNIT_FOLDER}\n")
    for package, pages in man_pages(tree / "debian", built).items():
        (tree / "debian" / f"{package}.manpages").write_text("".join(f"{page}\n" for page in sorted(pages)))


def man_pages(debian: Path, built: Distribution) -> dict[str, list[str]]:
    """Map packages to the wheel's man pages, by default gantt-common. Raises PackagingError if a page is missing."""
    packages = {f"gantt-{name}": f"gantt-{name}" for name in SERVICES}
    for path in debian.glob("*.links"):
        packages |= {Path(line.split()[1]).name: path.stem for line in path.read_text().splitlines()}
    pages: dict[str, list[str]] = {}
    names = built.documentation
    for program in built.programs:
        pages.setdefault(packages.get(program, "gantt-common"), []).append(documentation.man_page(program, names))
    return pages


def _write_service(tree: Path, package: str) -> None:
    debian = tree / "debian"
    (unit,) = [path.name for path in tree.glob("*.service") if path.stem.rstrip("@") == package]
    (debian / f"{package}.install").write_text(f"{unit} {UNIT_FOLDER}\ndebian/conf/{package}.conf etc/gantt\n")
    for kind in SHARED_KINDS:
        shutil.copy(debian / f"service.{kind}", debian / f"{package}.{kind}")
    for kind, pattern in (("sysusers", re.escape(package)), ("tmpfiles", rf"/etc/gantt/{package}[.@]\S+")):
        (debian / f"{package}.{kind}").write_text(_lines((tree / f"gantt.{kind}").read_text(), pattern))


def _lines(text: str, pattern: str) -> str:
    """Return the sysusers.d or tmpfiles.d lines whose second word matches. Raises PackagingError without any."""
    rows = [line for line in text.splitlines() if line[:1] not in ("", "#")]
    matches = [row for row in rows if re.fullmatch(pattern, row.split()[1])]
    if not matches:
        raise PackagingError(f"no line of {UNITS} is of {pattern}, among {rows}")
    return "".join(f"{row}\n" for row in matches)


def _write_changelog(path: Path, upstream: str, revision: int, seconds: str) -> None:
    path.write_text(
        CHANGES.format(
            version=versions.debian(upstream, revision),
            upstream=upstream,
            maintainer=MAINTAINER,
            date=format_datetime(datetime.fromtimestamp(int(seconds), UTC)),
        )
    )


def lint(packages: Sequence[Path]) -> None:
    run("lintian", "--allow-root", "--fail-on=error,warning", f"--suppress-tags={SUPPRESSED}", *packages)


def _build_distribution(folder: Path) -> Distribution:
    version = versions.of_checkout(checkout.ROOT)
    share = documentation.build(folder, version)
    return distribution.build(folder, changelog=changelog.write(checkout.ROOT, version), share=share)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="debian", description="Build Debian's packages of gantt.")
    parser.add_argument("--dist", type=Path, help="a folder with a source archive and a wheel (default: build them)")
    parser.add_argument("--output", type=Path, default=Path("dist/debian"), help="default: dist/debian")
    parser.add_argument(
        "--revision", type=int, default=1, help="of the package; a new build of a version needs a new one"
    )
    options = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() as work:
            built = distribution.find(options.dist) if options.dist else _build_distribution(Path(work))
            options.output.mkdir(parents=True, exist_ok=True)
            packages = build(built, options.output, options.revision)
            lint(packages)
    except PackagingError as why:
        print(why, file=sys.stderr)
        return 1
    print("\n".join(map(str, packages)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
