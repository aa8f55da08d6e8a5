# SPDX-License-Identifier: Apache-2.0
"""Which pages and man pages a release must have."""

import pytest

from devstack.deploy.packaging import documentation
from devstack.deploy.packaging.programs import PackagingError

TRACKED = ["README.md", "docs/index.md", "docs/adr/0001-a.md", "docs/plugins/example/README.md", "docs/conf.py"]
SITE = "share/doc/gantt/html"
COMPLETE = {
    f"{SITE}/index.html",
    f"{SITE}/adr/0001-a.html",
    f"{SITE}/search.html",
    f"{SITE}/searchindex.js",
    f"{SITE}/genindex.html",
    "share/man/man1/gantt.1",
    "share/man/man8/gantt-scheduler.8",
}
PROGRAMS = ["gantt", "gantt-scheduler"]


def test_complete_documentation_has_no_problems() -> None:
    assert documentation.problems(COMPLETE | {f"{SITE}/_static/furo.css"}, TRACKED, PROGRAMS) == []


def test_missing_pages_and_man_pages_are_named() -> None:
    names = COMPLETE - {f"{SITE}/adr/0001-a.html", "share/man/man8/gantt-scheduler.8"}

    assert documentation.problems(names, TRACKED, PROGRAMS) == [
        f"{SITE}/adr/0001-a.html is missing from the documentation",
        "there must be one man page of gantt-scheduler, but there are []: build the documentation",
    ]


def test_archive_without_documentation_misses_all_of_it() -> None:
    assert len(documentation.problems([], TRACKED, PROGRAMS)) == len(COMPLETE)


def test_man_page_of_a_longer_name_is_another_programs() -> None:
    assert documentation.man_page("gantt", COMPLETE) == "share/man/man1/gantt.1"
    with pytest.raises(PackagingError, match="one man page of gantt-sched,"):
        documentation.man_page("gantt-sched", COMPLETE)
