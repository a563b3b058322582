// Exact answers about what was not observed in rows: probabilities given what was, and values in its place.
//
// Codes [N, D] that are none of their feature's values, and classes of -1, were not observed. Rows lo to hi are filled.
#pragma once

#include "messages.h"

namespace tanager {

// Fill the given rows of log_joint [N, C], with unknown values summed out exactly.
//
// A row costs C * R_i for each unknown feature i, times the parent's number of values where both are unknown.
void marginal_log_joint(View<const Index> rows, const Forest& forest, const Codes& codes, Matrix<double> log_joint);

// Fill p(c | observed), [N, C], and all p(x_i | observed) side by side, [N, S].
void fill_marginals(Index lo, Index hi, const Forest& forest, const Codes& codes, View<const Index> classes,
                    Matrix<double> class_probabilities, Matrix<double> feature_probabilities);

// Fill p(x_feature, c | observed); a row of out is [R, C].
void fill_class_joint(Index lo, Index hi, const Forest& forest, const Codes& codes, View<const Index> classes,
                      Index feature, Matrix<double> out);

// Fill p(x_a, x_b, c | observed); a row of out is [R_a, R_b, C].
//
// The paths lead from each feature of the pair up to the feature where they meet: given its value and the class, the
// two are independent. In different trees, where the paths do not meet, they are independent given the class alone.
void fill_pair_joint(Index lo, Index hi, const Forest& forest, const Codes& codes, View<const Index> classes,
                     View<const Index> first_path, View<const Index> second_path, Matrix<double> out);

// Fill the most probable completion, [N, D] and [N], and its log-probability, [N]; the smallest of equal values.
void complete_most_probably(Index lo, Index hi, const Forest& forest, const Codes& codes, View<const Index> classes,
                            Matrix<Index> full_codes, View<Index> full_classes, View<double> log_probability);

// Fill draws given what was observed, from uniform numbers [n, D + 1], of which the last is the class's.
//
// What was observed is one row, which all draws share, or as many rows as there are draws.
void draw_completions(Index lo, Index hi, const Forest& forest, const Codes& codes, View<const Index> classes,
                      Matrix<const double> uniform, Matrix<Index> drawn_codes, View<Index> drawn_classes);

}  // namespace tanager
