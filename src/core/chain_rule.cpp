#include "chain_rule.h"

#include <algorithm>
#include <vector>

namespace tanager {

namespace {

// Goes through the features of one row after the other, depth first. Unknown features whose branches are not yet done
// lie on a stack.
class ChainOfTerms {
 public:
    explicit ChainOfTerms(const Forest& forest)
        : forest_(forest),
          ahead_(std::make_unique_for_overwrite<double[]>(forest.n_values() * forest.n_classes())),
          total_(std::make_unique_for_overwrite<double[]>(forest.n_features() * forest.n_classes())),
          nothing_(forest.n_classes()),
          stack_(forest.n_features()) {}

    // Fill terms[D, C] where a value or its parent's is unknown.
    void split(RowState& row, double* terms) {
        const Index n_classes = forest_.n_classes();
        Index depth = 0;
        for (const Index i : forest_.order) {
            const Index j = forest_.parent(i);
            const bool is_known = row.knows(forest_, i), is_parent_known = row.knows(forest_, j);
            if (is_known && is_parent_known) continue;
            while (!is_parent_known && stack_[depth - 1] != j) leave(stack_[--depth], row);
            if (is_known) {
                double* below = lines_of(forest_, j, row.beliefs.get());
                for (Index x = 0; x < forest_.card(j); ++x)
                    for (Index c = 0; c < n_classes; ++c)
                        below[x * n_classes + c] += forest_.cpt(i, x)[row.value[i] * n_classes + c];
            } else {
                enter(i, row);
                stack_[depth++] = i;
            }
            // The sums that grow are those of the parent if the feature is known, else those of the feature itself.
            const double* before = is_parent_known ? nothing_.data() : total(j);
            for (Index c = 0; c < n_classes; ++c) terms[i * n_classes + c] = -before[c];
            double* grown = total(is_known ? j : i);
            sum_values(is_known ? j : i, row, grown);
            for (Index c = 0; c < n_classes; ++c) terms[i * n_classes + c] += grown[c];
        }
    }

 private:
    // Sums over the values of feature i of what came before and what was observed below, [c].
    double* total(Index i) { return &total_[i * forest_.n_classes()]; }

    // Fill the lines of an unknown feature: log-probability of each value with what came before.
    void enter(Index i, RowState& row) {
        const Index n_classes = forest_.n_classes(), card = forest_.card(i), j = forest_.parent(i);
        double* ahead = lines_of(forest_, i, ahead_.get());
        std::fill_n(lines_of(forest_, i, row.beliefs.get()), card * n_classes, 0.0);
        if (row.knows(forest_, j)) {
            std::copy_n(forest_.cpt(i, row.value[j]), card * n_classes, ahead);
            return;
        }
        std::fill_n(ahead, card * n_classes, 0.0);
        const double* ahead_of_j = lines_of(forest_, j, ahead_.get());
        const double* below_j = lines_of(forest_, j, row.beliefs.get());
        for (Index x = 0; x < card; ++x) {
            for (Index x_parent = 0; x_parent < forest_.card(j); ++x_parent)
                for (Index c = 0; c < n_classes; ++c) {
                    const Index k = x_parent * n_classes + c;
                    row.lines[k] = ahead_of_j[k] + below_j[k] + forest_.cpt(i, x_parent)[x * n_classes + c];
                }
            add_log_sum(row.lines.get(), forest_.card(j), n_classes, ahead + x * n_classes);
        }
    }

    // Tell the parent of an unknown feature, if it is unknown too, what was observed below the feature.
    void leave(Index i, RowState& row) {
        const Index n_classes = forest_.n_classes(), j = forest_.parent(i);
        if (row.knows(forest_, j)) return;
        double* below = lines_of(forest_, j, row.beliefs.get());
        for (Index x = 0; x < forest_.card(j); ++x)
            send(forest_, i, x, lines_of(forest_, i, row.beliefs.get()), false, row.lines.get(), below + x * n_classes);
        std::copy_n(total(i), n_classes, total(j));
    }

    // Fill sums[c] with the log-sum over the values of feature i.
    void sum_values(Index i, RowState& row, double* sums) {
        const Index n_classes = forest_.n_classes(), size = forest_.card(i) * n_classes;
        const double *ahead = lines_of(forest_, i, ahead_.get()), *below = lines_of(forest_, i, row.beliefs.get());
        for (Index k = 0; k < size; ++k) row.lines[k] = ahead[k] + below[k];
        std::fill_n(sums, n_classes, 0.0);
        add_log_sum(row.lines.get(), forest_.card(i), n_classes, sums);
    }

    const Forest& forest_;
    std::unique_ptr<double[]> ahead_;  // [S, C]: what came before unknown features; beliefs have what is below them
    std::unique_ptr<double[]> total_;  // [D, C]
    std::vector<double> nothing_;      // [C]
    std::vector<Index> stack_;
};

}  // namespace

void fill_chain_terms(Index lo, Index hi, const Forest& forest, const Codes& codes, Matrix<double> terms) {
    const Index n_classes = forest.n_classes();
    RowState row(forest);
    ChainOfTerms chain(forest);
    for (Index n = lo; n < hi; ++n) {
        read_row(forest, codes, n, row);
        bool is_complete = true;
        for (Index i = 0; i < forest.n_features(); ++i) {
            const Index j = forest.parent(i);
            double* out = terms.row(n) + i * n_classes;
            if (row.knows(forest, i) && row.knows(forest, j)) {
                std::copy_n(forest.cpt(i, row.value[j]) + row.value[i] * n_classes, n_classes, out);
            } else {
                std::fill_n(out, n_classes, 0.0);
                is_complete = false;
            }
        }
        if (!is_complete) chain.split(row, terms.row(n));
    }
}

}  // namespace tanager
