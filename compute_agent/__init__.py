# SPDX-License-Identifier: Apache-2.0
"""The compute agent: sole owner of what runs on a service host's nodes."""
