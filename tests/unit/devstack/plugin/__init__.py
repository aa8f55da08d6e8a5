# SPDX-License-Identifier: Apache-2.0
"""Tests of the plugin for OpenStack's DevStack, with stand-ins for DevStack's functions."""
