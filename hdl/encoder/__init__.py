# SPDX-License-Identifier: BSD-2-Clause
"""The encoder: code points in, code units of any encoding form out."""
