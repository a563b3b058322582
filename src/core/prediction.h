// The log-joint of rows under a network: the log prior and one line of a CPT for each slot, summed (equation 9).
//
//   log p(c, x) = log p(c) + sum over slots of log p(x_i | x_parents, c)
//
// Eight lines are added in single precision, and their sums in double precision: the result is good to about 1e-6
// however many slots there are, at half the time that double precision throughout takes. The order of the sum is that
// of the slots, whatever rows are summed together, so that a row has the same bits in every company.
#pragma once

#include "row_block.h"

namespace tanager {

// Fill those of rows lo to hi of log_joint [N, C] that are open; the others are filled with NaN.
void network_log_joint(Index lo, Index hi, const Network& network, const Codes& codes, View<RowState> states,
                       Matrix<double> log_joint);

// Fill classes with the most probable one, the first of equal ones, of those rows lo to hi that are open: they become
// settled.
void best_classes(Index lo, Index hi, const Network& network, const Codes& codes, View<RowState> states,
                  View<Index> classes);

}  // namespace tanager
