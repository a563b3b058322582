"""The log-joint of rows with unknown values, which are summed out exactly by messages from the leaves to the roots.

A row costs ``C * R_i`` for each unknown feature i, times the parent's number of values where both are unknown.
"""

from __future__ import annotations

import numpy as np

from tanager._jit import kernel
from tanager._types import FloatArray, IntArray
from tanager.kernels.messages import Forest, collect, read_row


@kernel
def marginal_log_joint(rows: IntArray, forest: Forest, codes: IntArray, log_joint: FloatArray) -> None:
    """Fill the given rows of ``log_joint[N, C]``; a code equal to the feature's number of values is unknown.

    If ``forest.order`` is empty the graph may have cycles, nothing can be summed out, and terms that need an unknown
    value are left out.
    """
    value = np.empty(codes.shape[1] + 1, np.int64)
    beliefs = np.empty((forest.start[-1], forest.prior.shape[0]))
    for n in rows:
        read_row(codes[n], value)
        collect(forest, value, False, beliefs, log_joint[n])
        for c in range(forest.prior.shape[0]):
            log_joint[n, c] += forest.prior[c]
