// Counts of values, alone and in pairs, within each class: all that maximum likelihood and Chow-Liu need.
//
// Counts have the layout of the CPTs, [x_parent, x_child, c] with the class axis contiguous.
#pragma once

#include "views.h"

namespace tanager {

// Add the rows' weights into the counts of every candidate of slots lo to hi; unknown values do not count.
// counts is an arena laid out like theta.
void count_cpts(Index lo, Index hi, const Codes& codes, View<const Index> y, View<const double> weight,
                const Cpts& cpts, Index n_classes, View<double> counts);

// Fill rows lo to hi of the conditional mutual information I(X_i; X_j | C), in nats, for j < i, and its mirror image.
//
// columns [D, N] are feature-major. The information is the sum over x_i, x_j and c of
// p(x_i, x_j, c) log(p(x_i, x_j, c) p(c) / (p(x_i, c) p(x_j, c))), from unsmoothed weighted counts. Rows in which one
// of the two is unknown add nothing, so a pair that is seldom seen together counts for little.
void pair_information(Index lo, Index hi, const Codes& columns, View<const Index> y, View<const double> weight,
                      View<const Index> cards, Index n_classes, Matrix<double> information);

// The same for every pair of a child and a candidate of slots lo to hi, from counts that count_cpts has filled, which
// may be sums over many parts of the rows. total is the weight of all rows.
void information_of_counts(Index lo, Index hi, const Cpts& cpts, View<const double> counts, double total,
                           Index n_classes, Matrix<double> information);

}  // namespace tanager
