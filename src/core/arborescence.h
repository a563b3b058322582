// The best tree of all features, the best forest among candidates, and the sampling of forests by perturbed scores.
//
// A forest among candidates is a maximum arborescence by Chu, Liu and Edmonds, with "no parent" as an edge from a
// virtual root. Cycles are shrunk to nodes that keep the list of their features instead of a heap of edges: a perturbed
// structure of D features has few cycles, and short ones. Each feature remembers its best edge from outside, so that
// few candidates are read twice.
#pragma once

#include <vector>

#include "views.h"

namespace tanager {

// Room for one search, made once.
struct ForestScratch {
    // Features are nodes 0 to D - 1; shrunk cycles follow, and hold nodes made before them.
    std::vector<Index> around;     // [2D]: the shrunk cycle that a node is part of, -1 for none
    std::vector<Index> edge;       // [2D]: chosen candidate of a node
    std::vector<Index> target;     // [2D]: the feature whose candidate it is
    std::vector<Index> first;      // [2D]: first feature of a node
    std::vector<Index> last;       // [2D]: last feature of a node
    std::vector<Index> walk;       // [2D]: the walk that met a node first, -1 for none
    std::vector<Index> following;  // [D]: next feature of the same node, -1 after the last
    std::vector<Index> outermost;  // [D]: outermost node that a feature is in
    std::vector<Index> best;       // [D]: best candidate of a feature from outside its node
    std::vector<double> deducted;  // [D]: what edges into a feature have lost to edges that they would replace
    std::vector<Index> child, sibling, enters, leaves;  // of the walk through a forest

    explicit ForestScratch(Index n_features);
};

// Fill the candidate of each feature in the forest of largest summed score; parent [E] is D for none.
//
// Returns -1, or a feature for which no forest is possible because no feature around it may go without a parent.
Index best_forest(View<const double> scores, View<const Index> ptr, View<const Index> parent, View<Index> selected,
                  ForestScratch& scratch);

// Fill the parent of each feature, -1 for the root, in the tree of largest summed weight, by Prim's algorithm. Weights
// are symmetric. Ties go to the feature with the smallest number, and to the parent with the smallest number.
void grow_tree(Matrix<const double> weights, Index root, View<Index> parents);

// Fill, from perturbed logits, the candidates of the best forest and the soft weights of all candidates.
//
// Soft weights are shared among the parents that would keep a forest, which are those that do not descend from the
// feature; the others have none. The selected candidate is the best of these, since any of them could replace it. Where
// no forest is possible the parents are left as they were.
void sample_forest(View<const double> phi, View<const double> noise, View<const Index> ptr, View<const Index> parent,
                   double tau, View<Index> selected, View<double> soft, ForestScratch& scratch);

}  // namespace tanager
