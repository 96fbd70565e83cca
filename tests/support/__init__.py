# SPDX-License-Identifier: BSD-2-Clause
"""Helpers that the tests of several packages share."""
