// Entropy splits of one numeric column with the MDL stop (Fayyad and Irani, 1993).
//
// A range of N rows with k classes and class entropy E is cut in two where the class information gained is largest, if
//
//     N gain > log2(N - 1) + log2(3^k - 2) - (k E - k1 E1 - k2 E2)
//
// and then each part in its turn. The rule "best passing" takes the cut of largest gain among those that pass this test
// where the cut of largest gain of all does not.
//
// A column is sorted once and reduced to groups: distinct values with the weight of each class, neighbours that hold
// one and the same class merged, because the best cut never lies between them. What is between two groups is a gap, and
// a set of rows is a range of groups.
//
// Weights are whole numbers (of some small unit) and x log2 x is kept in fixed point. All sums are then exact: they do
// not depend on the order of rows, and one class at a time can be moved across a cut without any drift.
#pragma once

#include <vector>

#include "views.h"

namespace tanager {

// x log2 x of weights in fixed point: tabulated up to some weight, computed beyond.
class Logs {
 public:
    static constexpr int bits = 52;  // of the largest number, so that double computes it without loss

    // For weights of up to `largest` units; one unit stands for so many rows.
    Logs(Index largest, double unit);

    Index operator()(Index weight) const {
        return weight < static_cast<Index>(table_.size()) ? table_[weight] : compute(weight);
    }
    double rows(Index weight) const { return static_cast<double>(weight) * unit; }

    double unit;
    double scale;  // fixed-point units in one bit

 private:
    Index compute(Index weight) const;

    std::vector<Index> table_;
};

// Classes and weights of the rows, which all columns share.
struct ClassedRows {
    std::vector<std::int32_t> y;  // [N], below n_classes
    std::vector<Index> weight;    // [N] in units, or empty where all are 1; rows that weigh nothing are left out
    Index n_classes;
    Logs logs;
};

// The values on both sides of each cut, lowest cut first.
struct Gaps {
    std::vector<double> below, above;
};

// Where to cut a column of N values, NaN where there is none; max_bins is at least 1. Where it limits the bins, the
// range that gains most is cut first.
Gaps find_gaps(const ClassedRows& rows, View<const double> values, bool best_passing, Index max_bins);

}  // namespace tanager
