# SPDX-License-Identifier: BSD-2-Clause
"""The decoders, serial and parallel, and the function that chooses one by its parameters."""
