# SPDX-License-Identifier: Apache-2.0
"""A decision: which hosts a call is given, claimed before it is answered."""
