# SPDX-License-Identifier: Apache-2.0
"""Leaves the tests in a browser out where what drives it is not installed, as in all environments but `dashboard`."""

import importlib.util

collect_ignore = [] if importlib.util.find_spec("selenium") else ["test_browser.py", "browser.py"]
