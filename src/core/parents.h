// The distribution over parents: sampling by Gumbel-max, and its gradient by the straight-through softmax.
//
// Equations 11 to 13 of the paper. One structure is drawn for a whole batch. The temperature never changes which
// structure is drawn, since dividing by it keeps the order; it only shapes the gradient.
#pragma once

#include "adam.h"
#include "views.h"

namespace tanager {

// Fill, from perturbed logits, the selected candidate of each slot and the soft weights of all candidates. The first of
// equal candidates wins.
void sample_parents(View<const double> phi, View<const double> noise, View<const Index> ptr, double tau,
                    View<Index> selected, View<double> soft);

// Let slots whose uniform number is below the probability read the CPT without a parent; their phi gets no gradient in
// this step. A slot that has no such CPT keeps its parent.
void drop_parents(View<const double> uniform, double probability, const Cpts& cpts, View<Index> selected,
                  View<double> soft);

// Pass the gradient of the candidates' weights through the softmax to phi.
void phi_gradient(View<const double> weight_gradient, View<const double> soft, View<const Index> ptr, double tau,
                  View<double> gradient);

// Softmax of phi over the candidates of each slot.
void parent_probabilities(View<const double> phi, View<const Index> ptr, View<double> probabilities);

// One step of Adam on phi.
void descend_phi(const Moments<double>& phi, View<const double> gradient, Index step, double rate, const Adam& adam);

}  // namespace tanager
