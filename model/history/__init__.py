# SPDX-License-Identifier: BSD-2-Clause
"""The rules of older documents and their differences from Table 3-7."""
