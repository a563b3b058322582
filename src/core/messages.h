// Messages along the forest of a network: up from the leaves to sum values out, down to find their probabilities.
//
// beliefs[start[i] + x_i, c] gathers the log-probability of what was observed below feature i. An unknown feature sends
// the log-sum (or the maximum) over its values of its CPT plus its belief: into the belief of its parent if that is
// unknown too, else into the log-joint. On the way down, CPT plus belief, normalised over x_i, is the probability of
// x_i given its parent, its class and what was observed. Both ways stay in log space until they are normalised, so that
// no number of small factors underflows.
#pragma once

#include <memory>

#include "views.h"

namespace tanager {

// A network without cycles (tanager._types.Forest).
struct Forest {
    View<const float> theta;   // log-probabilities of all CPTs
    View<const double> prior;  // [C]
    Cpts cpts;                 // one candidate for each feature
    View<const Index> order;   // [D]: parents before their children; empty if nothing can be summed out
    View<const Index> start;   // [D + 1]: place of each feature's first value in a list of all features' values

    Index n_features() const { return cpts.parent.size; }
    Index n_classes() const { return prior.size; }
    Index n_values() const { return start[n_features()]; }
    Index card(Index i) const { return cpts.cards[i]; }
    Index parent(Index i) const { return cpts.parent[i]; }

    // CPT of feature i for one value of its parent, [x_i, c].
    const float* cpt(Index i, Index x_parent) const {
        return theta.data + cpts.offset[i] + x_parent * card(i) * n_classes();
    }
};

// One row: its values, and what messages tell of it. It is made once for all rows of a call, and filled by read_row,
// collect, weigh_classes and distribute, in this order.
struct RowState {
    explicit RowState(const Forest& forest);

    std::unique_ptr<Index[]> value;       // [D + 1]: the number of values where it is unknown; 0 for "no parent"
    std::unique_ptr<double[]> beliefs;    // [S, C]: only of unknown features
    std::unique_ptr<double[]> log_joint;  // [C]
    std::unique_ptr<double[]> message;    // [C]: scratch for what one value of a parent is sent
    std::unique_ptr<double[]> weight;     // [C]: probability of each class
    std::unique_ptr<double[]> joint;      // [S, C]: p(x_i, c | what was observed)
    std::unique_ptr<double[]> lines;      // [R, C]: scratch for the values of one feature

    bool knows(const Forest& forest, Index i) const { return value[i] < forest.card(i); }
};

// Lines of feature i, [x_i, c], in an array of all features' values, [S, C].
inline double* lines_of(const Forest& forest, Index i, double* all) {
    return all + forest.start[i] * forest.n_classes();
}

// Add to message[c] the log-sum over x of lines[x, c].
void add_log_sum(const double* lines, Index n_lines, Index n_classes, double* message);

// Add to message[c] the log-sum, or the maximum, over x_i of the CPT of feature i for one value of its parent plus
// belief[x_i, c]; lines[x_i, c] is scratch.
void send(const Forest& forest, Index i, Index x_parent, const double* belief, bool is_max, double* lines,
          double* message);

// Fill lines[x_i, c] with the softmax over x_i of the CPT of feature i for one value of its parent plus belief[x_i, c].
void condition(const Forest& forest, Index i, Index x_parent, const double* belief, double* lines);

// Take the values of row n; a code that is none of its feature's values is unknown.
void read_row(const Forest& forest, const Codes& codes, Index n, RowState& row);

// Pass messages up: fill the beliefs and the log-joint.
//
// With is_max unknown values are set to the most probable ones instead of summed out. If forest.order is empty the
// graph may have cycles, nothing can be summed out, and terms that need an unknown value are left out.
void collect(const Forest& forest, bool is_max, RowState& row);

// Fill the weights of the classes from the log-joint; observed is the class if it is known, else -1.
void weigh_classes(const Forest& forest, Index observed, RowState& row);

// Pass probabilities down: fill the joint of each feature and the class.
void distribute(const Forest& forest, RowState& row);

}  // namespace tanager
