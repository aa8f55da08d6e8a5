# SPDX-License-Identifier: Apache-2.0
"""Release script: checks the checkout, builds all parts and checks them. Publishes nothing."""

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from devstack.deploy.packaging import (
    changelog,
    chart,
    checkout,
    distribution,
    documentation,
    environment,
    lock,
    sbom,
    versions,
)
from devstack.deploy.packaging.programs import PackagingError, run

SUMS = "SHA256SUMS"
TOX_ENVIRONMENTS = "lint,imports,py,py312,py313,types,docs"
TESTS_SECONDS = 4 * 3600.0


class Release(NamedTuple):
    """Checkout to release; ``folder`` takes the results, ``work`` the unpublished files."""

    checkout: Path
    version: str
    folder: Path
    work: Path

    @property
    def environment(self) -> Path:
        return self.work / "environment"


class Step(NamedTuple):
    """Step of the release; ``run`` returns a detail to print, or raises PackagingError."""

    name: str
    subject: str
    run: Callable[[Release], str]


def require_clean(release: Release) -> str:
    changes = run("git", "-C", release.checkout, "status", "--porcelain").splitlines()
    if changes:
        raise PackagingError(f"{len(changes)} files are not committed, the first is {changes[0][3:]}")
    return run("git", "-C", release.checkout, "log", "-1", "--format=%h %s").strip()


def require_version(release: Release) -> str:
    return versions.require_release(release.checkout, release.version)


def require_notes(release: Release) -> str:
    changelog.lint(release.checkout)
    return f"{len(changelog.write(release.checkout, release.version).splitlines())} lines of changes"


def require_tests(release: Release) -> str:
    """Run the default tests; with CI=true a missing server or Python is a failure."""
    command = ("tox", "run", "--skip-missing-interpreters", "false", "-e", TOX_ENVIRONMENTS)
    run(*command, cwd=release.checkout, env={"CI": "true"}, seconds=TESTS_SECONDS)
    return TOX_ENVIRONMENTS


def build_documentation(release: Release) -> str:
    share = documentation.build(release.work, release.version, release.checkout)
    return f"{len([*share.rglob('*.html')])} pages, {len([*share.rglob('man/*/*')])} man pages"


def build(release: Release) -> str:
    text = changelog.write(release.checkout, release.version)
    share = release.work / documentation.SHARE
    built = distribution.build(release.folder, release.checkout, text, share if share.is_dir() else None)
    tracked = checkout.tracked_files(release.checkout)
    lines = distribution.problems(built, tracked)
    if share.is_dir():
        lines += documentation.problems(built.documentation, tracked, built.programs)
    pins = lock.read((release.checkout / lock.PATH).read_text())
    lines += lock.problems(built.metadata.get_all("Requires-Dist", []), pins)
    if built.version != release.version:
        lines.append(f"the wheel's version is {built.version}, that of setup.py {release.version}")
    if lines:
        raise PackagingError("\n".join(lines))
    run(sys.executable, "-m", "twine", "--no-color", "check", "--strict", *built)
    return ", ".join(path.name for path in built)


def install(release: Release) -> str:
    built = distribution.find(release.folder)
    return environment.create(release.environment, built.wheel, release.checkout / lock.PATH)


def write_sbom(release: Release) -> str:
    output = release.folder / f"gantt-{release.version}.cdx.json"
    sbom.write(release.environment, distribution.find(release.folder), output)
    return output.name


def write_chart(release: Release) -> str:
    return chart.package(release.folder, release.version, release.checkout).name


def write_sums(release: Release) -> str:
    files = sorted(path for path in release.folder.iterdir() if path.is_file() and path.name != SUMS)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (release.folder / SUMS).write_text("".join(sums))
    return f"{SUMS} of {len(files)} files"


CHECKS = (
    Step("clean", "every file is committed", require_clean),
    Step("version", "the version is a release's and is not tagged elsewhere", require_version),
    Step("notes", "the release notes are valid, and this version has some", require_notes),
    Step("tests", f"tox run -e {TOX_ENVIRONMENTS}, with CI=true", require_tests),
)
BUILDS = (
    Step("documentation", "the site and the man pages of every command, without a warning", build_documentation),
    Step("build", "source archive and wheel: their files and pages, the lock, twine check", build),
    Step("install", "the wheel with the lock in a clean environment", install),
    Step("sbom", "CycloneDX of that environment", write_sbom),
    Step("chart", "the Helm chart with this version", write_chart),
    Step("sums", "checksums of all files", write_sums),
)
STEPS = (*CHECKS, *BUILDS)


def passes(step: Step, release: Release, skipped: Sequence[str]) -> bool:
    """Run a step unless it is skipped, print its line, and return whether to continue."""
    if step.name in skipped:
        print(f"skipped  {step.name}: {step.subject}", flush=True)
        return True
    try:
        detail = step.run(release)
    except PackagingError as why:
        print(f"FAILED   {step.name}: {step.subject}\n{why}", flush=True)
        return False
    print(f"ok       {step.name}: {detail}", flush=True)
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="release", description="Check a checkout, and build a release from it.")
    parser.add_argument("--output", type=Path, default=Path("dist"), help="an empty or new folder (default: dist)")
    parser.add_argument("--skip", action="append", default=[], choices=[step.name for step in STEPS], metavar="STEP")
    parser.add_argument("--list", action="store_true", help="print the steps, and do nothing")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(f"{step.name}: {step.subject}" for step in STEPS))
        return 0
    if options.output.is_dir() and any(options.output.iterdir()):
        parser.error(f"--output {options.output} is not empty; remove it, or name another folder")
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        version = versions.of_checkout(checkout.ROOT)
        release = Release(checkout.ROOT, version, options.output.resolve(), Path(work))
        # Run all checks, so that one call lists all problems; build only if every check passed.
        checked = [passes(step, release, options.skip) for step in CHECKS]
        if not all(checked) or not all(passes(step, release, options.skip) for step in BUILDS):
            return 1
    print(_next_steps(release, options.skip))
    return 0


def _next_steps(release: Release, skipped: Sequence[str]) -> str:
    if skipped:
        return f"This is no release: {', '.join(skipped)} skipped."
    return (
        f"Left to do: git tag --sign {release.version} --message 'gantt {release.version}' && "
        f"git push origin {release.version} && twine upload {release.folder}/gantt-{release.version}*"
        "{.tar.gz,.whl}; then set the next version in setup.py."
    )


if __name__ == "__main__":
    sys.exit(main())
