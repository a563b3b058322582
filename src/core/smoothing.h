// Regularisers that move the drawn CPTs directly, before the step of Adam: towards naive Bayes, and lines towards their
// neighbours. What a CPT's normaliser loses by a move, its next update restores.
#pragma once

#include <vector>

#include "descent.h"
#include "views.h"

namespace tanager {

// Each step takes a drawn CPT with a parent a share of the way to its goal: goals[offset[i]:offset[i + 1]], read as
// [x_i, c], for every value of the parent.
struct Shrinkage {
    View<const float> goals;
    View<const Index> offset;
    double strength = 0.0;  // times the learning rate: the share
};

// Neighbouring lines of a drawn CPT exchange a share of their difference: the first n_ordered[i] values of column i are
// in order, and lines of values that follow each other are neighbours, for the child and for the parent. This is one
// explicit step of the diffusion equation.
struct Smoothness {
    View<const Index> n_ordered;  // [D + P + 1]
    double strength = 0.0;        // times the learning rate: the share
};

// Move the selected CPTs of slots lo to hi. scratch has room for the largest CPT.
void move_cpts(Index lo, Index hi, const Arena& arena, const Cpts& cpts, View<const Index> selected,
               const Shrinkage& shrinkage, const Smoothness& smoothness, double rate, std::vector<float>& scratch);

}  // namespace tanager
