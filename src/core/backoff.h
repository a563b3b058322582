// Counted CPTs whose frequencies are pulled to coarser ones.
//
// The counts n of a CPT [x_parent, x_i, c] are pulled to those given the class alone, and these to those of the values
// whatever the class, each as if m rows of the coarser ones had been seen:
//
//   p_k = (n_k + m_k p_{k-1}) / (N_k + m_k),   p_0 = (n_0 + 1) / (N_0 + R)
//
// Beside each frequency is the one that a row of that cell has if it is left out: counts and sums are then one less, at
// least zero.
#pragma once

#include "views.h"

namespace tanager {

// For the candidates of slots lo to hi the m, among those on offer, for which rows that are left out are most probable:
// prior_rows [E, 2], first for the frequencies given the class, then for those given the parent, too (0 if there is
// none). The first of equals is taken.
void best_prior_rows(Index lo, Index hi, const Cpts& cpts, View<const double> counts, Index n_classes,
                     View<const double> offered, Matrix<double> prior_rows);

// Fill the arenas values and left_out of these candidates with the frequencies, and gains [E] with the mean over the
// rows of log(left_out / left_out given the class alone): how much more probable the parent makes a row's value.
void back_off(Index lo, Index hi, const Cpts& cpts, View<const double> counts, Index n_classes,
              Matrix<const double> prior_rows, View<double> values, View<double> left_out, View<double> gains);

}  // namespace tanager
