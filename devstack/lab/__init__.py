# SPDX-License-Identifier: Apache-2.0
"""The lab: one command, one sub-command a question, each measured beside its floor in the same run."""
