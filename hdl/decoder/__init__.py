# SPDX-License-Identifier: BSD-2-Clause
"""The decoders: serial, parallel, with other practices; and the function that chooses one by its parameters."""
