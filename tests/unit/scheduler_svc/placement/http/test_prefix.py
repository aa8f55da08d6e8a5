# SPDX-License-Identifier: Apache-2.0
"""Paths with and without the prefix below which the API is served."""

import pytest

from scheduler_svc.placement.http.prefix import below


@pytest.mark.parametrize(
    ("path", "path_in_api"),
    [
        ("/placement", ""),
        ("/placement/", "/"),
        ("/placement/traits", "/traits"),
        ("/traits", "/traits"),
        ("/placements/traits", "/placements/traits"),
    ],
)
@pytest.mark.parametrize(("outer", "script"), [("", "/placement"), ("/cloud", "/cloud/placement")])
def test_prefix_moves_from_the_path_to_the_links(path, path_in_api, outer, script):
    environ = {"PATH_INFO": path, "SCRIPT_NAME": outer}
    below("/placement", lambda environ, start_response: [])(environ, None)
    assert (environ["PATH_INFO"], environ["SCRIPT_NAME"]) == (path_in_api, script)
