#include "queries.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace tanager {

namespace {

void pass_both_ways(const Forest& forest, const Codes& codes, Index n, Index observed, RowState& row) {
    read_row(forest, codes, n, row);
    collect(forest, false, row);
    weigh_classes(forest, observed, row);
    distribute(forest, row);
}

// p(x_bottom | x_top, c, observed), [x_top, x_bottom, c], for a path upwards from bottom to top.
class PathProbabilities {
 public:
    PathProbabilities(const Forest& forest, View<const Index> path) : forest_(forest), path_(path) {
        Index largest = 0;
        for (const Index i : path) largest = std::max(largest, forest.card(i));
        chain_.resize(largest * line_size());
        longer_.resize(largest * line_size());
    }

    // Numbers for one value of the top.
    Index line_size() const { return forest_.card(path_[0]) * forest_.n_classes(); }

    const double* operator()(RowState& row) {
        const Index n_classes = forest_.n_classes(), bottom = forest_.card(path_[0]);
        std::fill_n(chain_.begin(), bottom * line_size(), 0.0);
        for (Index x = 0; x < bottom; ++x) std::fill_n(&chain_[x * line_size() + x * n_classes], n_classes, 1.0);
        for (Index step = 0; step + 1 < path_.size; ++step) {
            lengthen(path_[step], row);
            std::swap(chain_, longer_);
        }
        return chain_.data();
    }

 private:
    // Put the parent of feature i on top of the chain. A known value has probability one whatever the value above it,
    // so that nothing passes through it.
    void lengthen(Index i, RowState& row) {
        const Index n_classes = forest_.n_classes(), size = line_size();
        for (Index above = 0; above < forest_.card(forest_.parent(i)); ++above) {
            double* __restrict longer = &longer_[above * size];
            if (row.knows(forest_, i)) {
                std::copy_n(&chain_[row.value[i] * size], size, longer);
                continue;
            }
            condition(forest_, i, above, lines_of(forest_, i, row.beliefs.get()), row.lines.get());
            std::fill_n(longer, size, 0.0);
            for (Index x = 0; x < forest_.card(i); ++x) {
                const double* __restrict line = &row.lines[x * n_classes];
                const double* __restrict chain = &chain_[x * size];
                for (Index first = 0; first < size; first += n_classes)
                    for (Index c = 0; c < n_classes; ++c) longer[first + c] += line[c] * chain[first + c];
            }
        }
    }

    const Forest& forest_;
    View<const Index> path_;
    std::vector<double> chain_, longer_;
};

// The place where the running sum of the weights first exceeds a share of their total; never one of weight 0.
Index pick(const double* weight, Index size, double share) {
    double total = 0.0;
    for (Index k = 0; k < size; ++k) total += weight[k];
    const double goal = share * total;
    double running = 0.0;
    Index last = 0;
    for (Index k = 0; k < size; ++k) {
        if (!(weight[k] > 0.0)) continue;
        running += weight[k];
        last = k;
        if (running > goal) break;
    }
    return last;
}

// The most probable value of an unknown feature in class c, given its parent's.
Index best_value(const Forest& forest, Index i, Index c, const RowState& row) {
    const Index n_classes = forest.n_classes();
    const float* cpt = forest.cpt(i, row.value[forest.parent(i)]) + c;
    const double* belief = lines_of(forest, i, row.beliefs.get()) + c;
    Index best = 0;
    for (Index x = 1; x < forest.card(i); ++x)
        if (cpt[x * n_classes] + belief[x * n_classes] > cpt[best * n_classes] + belief[best * n_classes]) best = x;
    return best;
}

// A random value of an unknown feature in class c, given its parent's; share is a uniform number.
Index random_value(const Forest& forest, Index i, Index c, double share, const RowState& row) {
    const Index n_classes = forest.n_classes(), card = forest.card(i);
    const float* cpt = forest.cpt(i, row.value[forest.parent(i)]) + c;
    const double* belief = lines_of(forest, i, row.beliefs.get()) + c;
    double* weight = row.lines.get();
    for (Index x = 0; x < card; ++x) weight[x] = cpt[x * n_classes] + belief[x * n_classes];
    const double highest = *std::max_element(weight, weight + card);
    for (Index x = 0; x < card; ++x) weight[x] = std::exp(weight[x] - highest);
    return pick(weight, card, share);
}

}  // namespace

void marginal_log_joint(View<const Index> rows, const Forest& forest, const Codes& codes, Matrix<double> log_joint) {
    RowState row(forest);
    for (const Index n : rows) {
        read_row(forest, codes, n, row);
        collect(forest, false, row);
        std::copy_n(row.log_joint.get(), forest.n_classes(), log_joint.row(n));
    }
}

void fill_marginals(Index lo, Index hi, const Forest& forest, const Codes& codes, View<const Index> classes,
                    Matrix<double> class_probabilities, Matrix<double> feature_probabilities) {
    const Index n_classes = forest.n_classes();
    RowState row(forest);
    for (Index n = lo; n < hi; ++n) {
        pass_both_ways(forest, codes, n, classes[n], row);
        std::copy_n(row.weight.get(), n_classes, class_probabilities.row(n));
        const double* joint = row.joint.get();
        for (Index k = 0; k < forest.n_values(); ++k, joint += n_classes) {
            double total = 0.0;
            for (Index c = 0; c < n_classes; ++c) total += joint[c];
            feature_probabilities(n, k) = total;
        }
    }
}

void fill_class_joint(Index lo, Index hi, const Forest& forest, const Codes& codes, View<const Index> classes,
                      Index feature, Matrix<double> out) {
    RowState row(forest);
    for (Index n = lo; n < hi; ++n) {
        pass_both_ways(forest, codes, n, classes[n], row);
        std::copy_n(lines_of(forest, feature, row.joint.get()), out.columns, out.row(n));
    }
}

void fill_pair_joint(Index lo, Index hi, const Forest& forest, const Codes& codes, View<const Index> classes,
                     View<const Index> first_path, View<const Index> second_path, Matrix<double> out) {
    const Index a = first_path[0], b = second_path[0], top = first_path[first_path.size - 1];
    const Index n_classes = forest.n_classes();
    const Index size_a = forest.card(a) * n_classes, size_b = forest.card(b) * n_classes;
    const bool do_meet = top == second_path[second_path.size - 1];
    RowState row(forest);
    PathProbabilities descend_to_a(forest, first_path), descend_to_b(forest, second_path);
    std::vector<double> with_a(n_classes);
    // Add to the line of out for one x_a the product of with_a[c] and of_b[x_b, c].
    const auto add_product = [&](double* __restrict line, const double* __restrict of_b) {
        for (Index k = 0; k < size_b; k += n_classes)
            for (Index c = 0; c < n_classes; ++c) line[k + c] += with_a[c] * of_b[k + c];
    };
    for (Index n = lo; n < hi; ++n) {
        pass_both_ways(forest, codes, n, classes[n], row);
        std::fill_n(out.row(n), out.columns, 0.0);
        if (!do_meet) {
            const double* of_a = lines_of(forest, a, row.joint.get());
            for (Index x_a = 0; x_a < forest.card(a); ++x_a) {
                for (Index c = 0; c < n_classes; ++c)
                    with_a[c] = row.weight[c] > 0.0 ? of_a[x_a * n_classes + c] / row.weight[c] : 0.0;
                add_product(out.row(n) + x_a * size_b, lines_of(forest, b, row.joint.get()));
            }
            continue;
        }
        const double *to_a = descend_to_a(row), *to_b = descend_to_b(row);
        const double* of_top = lines_of(forest, top, row.joint.get());
        for (Index x = 0; x < forest.card(top); ++x)
            for (Index x_a = 0; x_a < forest.card(a); ++x_a) {
                for (Index c = 0; c < n_classes; ++c)
                    with_a[c] = of_top[x * n_classes + c] * to_a[x * size_a + x_a * n_classes + c];
                add_product(out.row(n) + x_a * size_b, to_b + x * size_b);
            }
    }
}

void complete_most_probably(Index lo, Index hi, const Forest& forest, const Codes& codes, View<const Index> classes,
                            Matrix<Index> full_codes, View<Index> full_classes, View<double> log_probability) {
    RowState row(forest);
    for (Index n = lo; n < hi; ++n) {
        read_row(forest, codes, n, row);
        collect(forest, true, row);
        const double* log_joint = row.log_joint.get();
        const Index best =
            classes[n] >= 0 ? classes[n] : std::max_element(log_joint, log_joint + forest.n_classes()) - log_joint;
        for (const Index i : forest.order) {
            if (!row.knows(forest, i)) row.value[i] = best_value(forest, i, best, row);
            full_codes(n, i) = row.value[i];
        }
        full_classes[n] = best;
        log_probability[n] = log_joint[best];
    }
}

void draw_completions(Index lo, Index hi, const Forest& forest, const Codes& codes, View<const Index> classes,
                      Matrix<const double> uniform, Matrix<Index> drawn_codes, View<Index> drawn_classes) {
    RowState row(forest);
    for (Index n = lo; n < hi; ++n) {
        const Index observed = codes.rows > 1 ? n : 0;
        read_row(forest, codes, observed, row);
        if (n == lo || codes.rows > 1) {
            collect(forest, false, row);
            weigh_classes(forest, classes[observed], row);
        }
        const Index c = pick(row.weight.get(), forest.n_classes(), uniform(n, forest.n_features()));
        for (const Index i : forest.order) {
            if (!row.knows(forest, i)) row.value[i] = random_value(forest, i, c, uniform(n, i), row);
            drawn_codes(n, i) = row.value[i];
        }
        drawn_classes[n] = c;
    }
}

}  // namespace tanager
