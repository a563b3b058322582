#include "smoothing.h"

#include <algorithm>

namespace tanager {

namespace {

void shrink(float* __restrict cpt, Index size, const float* __restrict goal, Index n_goal, float share) {
    for (Index block = 0; block < size; block += n_goal)
        for (Index k = 0; k < n_goal; ++k) cpt[block + k] += share * (goal[k] - cpt[block + k]);
}

// Move entries that are a step apart towards each other by a share of their difference before.
void exchange(const float* __restrict before, float* __restrict cpt, Index size, Index step, float share) {
    for (Index k = 0; k + step < size; ++k) cpt[k] += share * (before[k + step] - before[k]);
    for (Index k = 0; k + step < size; ++k) cpt[k + step] -= share * (before[k + step] - before[k]);
}

void smooth(float* cpt, Index size, Index card, Index card_parent, Index n_ordered, Index n_ordered_parent, float share,
            float* before) {
    std::copy_n(cpt, size, before);
    const Index slab = size / card_parent, line = slab / card, n_moving = n_ordered * line;
    if (n_ordered > 1)
        for (Index first = 0; first < size; first += slab) exchange(before + first, cpt + first, n_moving, line, share);
    if (n_ordered_parent > 1) exchange(before, cpt, n_ordered_parent * slab, slab, share);
}

}  // namespace

void move_cpts(Index lo, Index hi, const Arena& arena, const Cpts& cpts, View<const Index> selected,
               const Shrinkage& shrinkage, const Smoothness& smoothness, double rate, std::vector<float>& scratch) {
    for (Index s = lo; s < hi; ++s) {
        const Index e = selected[s], i = cpts.child[s], j = cpts.parent[e];
        const Index start = cpts.offset[e], size = cpts.offset[e + 1] - start;
        float* cpt = arena.theta.value.data + start;
        const bool shrinks = shrinkage.strength > 0.0 && j != cpts.no_parent();
        const bool smooths = smoothness.strength > 0.0 && (smoothness.n_ordered[i] > 1 || smoothness.n_ordered[j] > 1);
        if (shrinks) {
            const Index goal = shrinkage.offset[i], n_goal = shrinkage.offset[i + 1] - goal;
            shrink(cpt, size, shrinkage.goals.data + goal, n_goal, static_cast<float>(rate * shrinkage.strength));
        }
        if (smooths)
            smooth(cpt, size, cpts.cards[i], cpts.cards[j], smoothness.n_ordered[i], smoothness.n_ordered[j],
                   static_cast<float>(rate * smoothness.strength), scratch.data());
    }
}

}  // namespace tanager
