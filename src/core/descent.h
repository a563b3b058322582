// Gradients of the CPTs and one step of Adam on them, fused CPT by CPT.
//
// For candidate e with child i and parent j, let A[x_j, x_i, c] be the sum of the loss gradient over the rows with
// these values, and S[x_j, c] its sum over x_i. Then
//
//   * the gradient of the CPT is A - exp(theta) * S if e is selected, else zero (equation 9 through log-softmax);
//   * the gradient of the candidate's weight s_e is the sum of A * theta, selected or not (equation 12).
//
// A regulariser's pull adds its own gradient to that of a selected CPT.
//
// CPTs are stored normalised: exp(theta) sums to one over x_i. A shift along x_i changes neither the model nor any
// gradient, so subtracting the log-normaliser after each step leaves the trajectory of the paper's parameters as it is.
// exp(theta) is computed when a gradient needs it: keeping it beside theta costs more, since all CPTs together are more
// than the caches hold (mnist's step took 10 % longer).
#pragma once

#include <vector>

#include "adam.h"
#include "lanes.h"
#include "losses.h"
#include "views.h"

namespace tanager {

// A term of the loss that pulls CPTs: half of weight times the squared distance from goals[offset[i]:offset[i + 1]],
// read as [x_i, c], for every value of the parents. Only what differs between the classes counts.
struct Pull {
    View<const float> goals;
    View<const Index> offset;
    float weight = 0.0f;
};

// The CPTs that training moves.
struct Arena {
    Moments<float> theta;
    View<Index> last;     // [E]: the step that last gave the candidate's CPT a gradient
    View<Index> updates;  // [E]: how many gradients the CPT has had
};

// The rows of a batch as a descent reads them: those whose gradient is a line first, then those whose gradient is at
// their own class alone; rows without a gradient follow and are not read.
struct SortedRows {
    Matrix<const std::int32_t> batch;  // [D + P + 1, B]: codes, feature-major
    Matrix<const float> grad;          // [B, P]
    View<const Index> y;               // [B]
    Index n_full;
    Index n_single;
};

// What a step descends on: sums over its rows, of which each part of the rows has its own.
struct Sums {
    View<float> cells;    // [arena]: A of the selected CPTs; the others are neither written nor read
    View<double> weight;  // [E]: gradients of the candidates' weights
    View<float> prior;    // [C]: sum of the loss gradient
};

// What one step needs.
struct Descent {
    Index step;  // number of this step, from 1
    double rate;
    Adam adam;
    bool is_dense;  // whether unselected CPTs go on moving on their momentum, as published
    Pull pull;
};

// Scratch of one thread, large enough for any slot.
struct DescentScratch {
    std::vector<Index> places, chosen_places;     // [B']
    std::vector<float> gradient;                  // the largest CPT and slack; all zero between calls
    std::vector<float> lines, probability, sums;  // a piece of a CPT, and slack

    DescentScratch(const Cpts& cpts, Index n_classes, Index n_rows);
};

// Update the CPTs of slots lo to hi and fill the gradient of their candidates' weights, which is of the CPTs before.
//
// Without rows, both have been summed before, and only the cells of sums are read. Dense descent corrects the bias by
// the number of the step; otherwise each CPT has its own count.
void update_cpts(Index lo, Index hi, const Arena& arena, const Cpts& cpts, Index n_classes, View<const Index> selected,
                 const SortedRows* rows, const Descent& descent, DescentScratch& scratch, const Sums& sums);

// Fill the sums of slots lo to hi, and leave the CPTs as they are.
void sum_cpts(Index lo, Index hi, const Arena& arena, const Cpts& cpts, Index n_classes, View<const Index> selected,
              const SortedRows& rows, DescentScratch& scratch, const Sums& sums);

// Sum the loss gradient over rows.
void sum_prior(Matrix<const float> grad, Index n_rows, View<float> slope);

// One step of Adam on the class prior, which is kept normalised over the classes.
void update_prior(const Moments<float>& prior, View<const float> slope, Index step, double rate, const Adam& adam);

// Normalise every CPT of an arena over the child's values.
void normalise_cpts(View<float> theta, const Cpts& cpts, Index n_classes);

}  // namespace tanager
