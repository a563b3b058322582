// Rows of a mini-batch, turned feature-major, and their log-joint under the drawn structure (equation 9).
#pragma once

#include "views.h"

namespace tanager {

// Copy rows lo to hi of a batch, those of codes [N, D] that rows [B] names, into columns of batch [D + P + 1, B'].
//
// Lines of the P pairs of features follow those of the features: the pair (a, b) has the code x_a R_b + x_b, and is
// unknown where one of them is. The last line belongs to the virtual feature that stands for "no parent" and stays
// zero, and so do columns beyond the rows, which fill the batch up.
void gather_batch(Index lo, Index hi, const Codes& codes, View<const Index> rows, Matrix<const Index> pairs,
                  View<const Index> cards, Matrix<std::int32_t> batch);

// Fill places with the place in the arena that each row of the batch reads of a candidate's CPT: where the line of C
// numbers for its pair of values starts. If one of the values is unknown, the row reads the zeros behind the last CPT
// instead, so that the term is left out.
void fill_places(Matrix<const std::int32_t> batch, const Cpts& cpts, Index slot, Index candidate, Index n_classes,
                 Index lo, Index hi, Index* places);

// Scratch of one thread for batch_log_joint.
struct ForwardScratch {
    static constexpr Index chunk = 8;  // slots whose lines are added before the sums are put down
    View<Index> places;                // [chunk * B]
};

// Fill rows lo to hi of log_joint [B, P] with the prior times n_members plus the lines of the selected CPTs, divided by
// n_members; the entries beyond the classes have no meaning.
void batch_log_joint(Index lo, Index hi, const float* theta, View<const float> prior, Index n_members, const Cpts& cpts,
                     View<const Index> selected, Matrix<const std::int32_t> batch, ForwardScratch scratch,
                     Matrix<float> log_joint);

}  // namespace tanager
