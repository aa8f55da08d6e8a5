# SPDX-License-Identifier: Apache-2.0
"""Attempts to run an instance: journal, saga, audit."""
