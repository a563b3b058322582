// How often rows occur in a forest that was trained to tell the classes apart (see tanager/model/settling.py).
//
// Numbers h_i(x_j, x_i) that are the same for all classes can be added to the log-CPT of feature i with the parent j
// without a change of the class posteriors of complete rows. They are chosen for which a feature and its parent occur
// as often together as a target f says, up to what the classes' multipliers a_c ask for:
//
//   p(x_j, x_i) = f(x_j, x_i) + sum_c a_c p(x_j, x_i | c)
//
// Messages tell what one part of the forest says of the other: below[x_i, c] what the features below i say of its
// values, above[x_i, c] what all others say. All are logarithms, so that no number of small factors underflows.
#pragma once

#include <algorithm>

#include "views.h"

namespace tanager {

// A forest whose log-CPTs are changed in place. Values of parents may be put into groups: the CPT of feature i is read
// as [group of x_parent, x_i, c].
struct OpenForest {
    View<double> theta;
    View<double> log_prior;   // [C]
    Cpts cpts;                // one candidate for each feature
    View<const Index> order;  // [D]: each feature is followed at once by all that are below it
    View<const Index> group;  // [S]: of each value of each feature, where the feature is a parent
    View<const Index> start;  // [D + 1]: place of each feature's first value in a list of all features' values

    Index n_features() const { return order.size; }
    Index n_classes() const { return log_prior.size; }
    Index card(Index i) const { return cpts.cards[i]; }
    Index n_groups(Index i) const { return cpts.cards[cpts.parent[i]]; }  // of the parent of feature i
    Index n_lines(Index i) const { return n_groups(i) * card(i); }
    double* cpt(Index i) const { return theta.data + cpts.offset[i]; }

    // The parent of feature i; the number of features for none. Columns of groups come after those of the values.
    Index parent(Index i) const {
        const Index column = cpts.parent[i];
        return column == cpts.no_parent() || column < n_features() ? std::min(column, n_features())
                                                                   : column - n_features();
    }
    // The number of values of a parent, and the groups of these; none has one value in one group.
    Index n_values(Index j) const { return j == n_features() ? 1 : card(j); }
    Index group_of(Index j, Index x) const { return j == n_features() ? 0 : group[start[j] + x]; }
};

// Make each CPT sum to one over x_i, and the prior over the classes, and leave the log-joint of every row as it is but
// for a constant: what a CPT sums to goes into that of the parent, and from a root into the prior.
void normalise_forest(const OpenForest& forest);

// Smoothed frequencies of the values of each feature, whatever the class: given its parent's, and together with it.
// Both are [x_parent, x_i] for one CPT after the other; frequencies of the values alone count for so many rows.
void fill_frequencies(const Cpts& cpts, View<const double> counts, Index n_classes, double prior_rows,
                      View<double> given, View<double> joint);

// What a search for h aims at, and when it ends.
struct SettlingGoal {
    View<const double> frequencies;  // f, [x_parent, x_i] for one CPT after the other
    View<const double> classes;      // [C]: how often the classes occur
    View<const double> tolerance;    // [C]: by how much they may be off
    Index most_sweeps;
};

// Change the CPTs by iterative proportional fitting, an edge at a time; a_c grows as long as class c is too rare. Where
// frequencies and classes cannot both be met, the multipliers lead away again: the nearest sweep is kept.
void settle(const OpenForest& forest, const SettlingGoal& goal);

}  // namespace tanager
