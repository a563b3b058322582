#include "backoff.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tanager {

namespace {

double without_one(double count) { return std::max(count - 1.0, 0.0); }

// Frequencies [lines, R, C] and those without the row of each cell.
struct Frequencies {
    std::vector<double> values, left_out;

    explicit Frequencies(Index size) : values(static_cast<std::size_t>(size)), left_out(values.size()) {}
};

// The counts of one CPT, with what is the same for every pull.
class Counts {
 public:
    Counts(const double* cells, Index n_parents, Index n_values, Index n_classes)
        : cells_(cells),
          n_parents_(n_parents),
          n_values_(n_values),
          n_classes_(n_classes),
          whole_(static_cast<std::size_t>(n_values * n_classes)) {
        for (Index g = 0; g < n_parents; ++g)
            for (Index k = 0; k < block(); ++k) whole_[k] += cells[g * block() + k];
    }

    Index block() const { return n_values_ * n_classes_; }
    Index size() const { return n_parents_ * block(); }
    Index n_parents() const { return n_parents_; }
    const double* cells() const { return cells_; }
    const double* whole() const { return whole_.data(); }

    // Frequencies of the values whatever parent and class, with one row added for each, for every class.
    Frequencies alone() const {
        Frequencies found(block());
        std::vector<double> of_value(static_cast<std::size_t>(n_values_));
        double total = static_cast<double>(n_values_);
        for (Index k = 0; k < block(); ++k) of_value[k / n_classes_] += whole_[k];
        for (const double each : of_value) total += each;
        for (Index k = 0; k < block(); ++k) {
            const double count = of_value[k / n_classes_];
            found.values[k] = (count + 1.0) / total;
            found.left_out[k] = std::max(count, 1.0) / std::max(total - 1.0, 1.0);
        }
        return found;
    }

    // Pull lines of counts [n_lines, R, C] to a goal [R, C] that counts for some rows.
    void pull(const double* counts, Index n_lines, const Frequencies& goal, double rows, double* values,
              double* left_out) const {
        std::vector<double> totals(static_cast<std::size_t>(n_classes_));
        for (Index g = 0; g < n_lines; ++g) {
            const Index first = g * block();
            sum_line(counts + first, totals);
            for (Index k = 0, c = 0; k < block(); ++k, c = c + 1 == n_classes_ ? 0 : c + 1) {
                const double count = counts[first + k], total = totals[c];
                values[first + k] = (count + rows * goal.values[k]) / (total + rows);
                left_out[first + k] = (without_one(count) + rows * goal.left_out[k]) / (without_one(total) + rows);
            }
        }
    }

    Frequencies given_class(double rows) const {
        Frequencies found(block());
        pull(whole_.data(), 1, alone(), rows, found.values.data(), found.left_out.data());
        return found;
    }

    // The pull on offer under which rows that are left out are most probable.
    double best_rows(const double* counts, Index n_lines, const Frequencies& goal, View<const double> offered) const {
        std::vector<double> seen, others, of_goal, sums, totals(static_cast<std::size_t>(n_classes_));
        for (Index g = 0; g < n_lines; ++g) {
            const double* line = counts + g * block();
            sum_line(line, totals);
            for (const double total : totals)
                if (total > 0.0) sums.push_back(total);
            for (Index k = 0; k < block(); ++k)
                if (line[k] > 0.0) {
                    seen.push_back(line[k]);
                    others.push_back(without_one(line[k]));
                    of_goal.push_back(goal.left_out[k]);
                }
        }
        double best = offered[0], highest = 0.0;
        for (Index p = 0; p < offered.size; ++p) {
            double likelihood = 0.0;
            for (std::size_t k = 0; k < seen.size(); ++k)
                likelihood += seen[k] * std::log(others[k] + offered[p] * of_goal[k]);
            for (const double total : sums) likelihood -= total * std::log(without_one(total) + offered[p]);
            if (p == 0 || likelihood > highest) {
                best = offered[p];
                highest = likelihood;
            }
        }
        return best;
    }

 private:
    void sum_line(const double* line, std::vector<double>& totals) const {
        std::fill(totals.begin(), totals.end(), 0.0);
        for (Index v = 0; v < n_values_; ++v)
            for (Index c = 0; c < n_classes_; ++c) totals[c] += line[v * n_classes_ + c];
    }

    const double* cells_;
    Index n_parents_, n_values_, n_classes_;
    std::vector<double> whole_;  // [R, C]: sums over the parent's values
};

// Call work(e, counts) for each candidate of some slots.
template <class Work>
void for_each_cpt(Index lo, Index hi, const Cpts& cpts, View<const double> counts, Index n_classes, Work&& work) {
    for (Index s = lo; s < hi; ++s)
        for (Index e = cpts.ptr[s]; e < cpts.ptr[s + 1]; ++e)
            work(e, Counts(counts.data + cpts.offset[e], cpts.cards[cpts.parent[e]], cpts.cards[cpts.child[s]],
                           n_classes));
}

}  // namespace

void best_prior_rows(Index lo, Index hi, const Cpts& cpts, View<const double> counts, Index n_classes,
                     View<const double> offered, Matrix<double> prior_rows) {
    for_each_cpt(lo, hi, cpts, counts, n_classes, [&](Index e, const Counts& cpt) {
        const double of_class = cpt.best_rows(cpt.whole(), 1, cpt.alone(), offered);
        prior_rows(e, 0) = of_class;
        prior_rows(e, 1) = 0.0;
        if (cpt.n_parents() > 1)
            prior_rows(e, 1) = cpt.best_rows(cpt.cells(), cpt.n_parents(), cpt.given_class(of_class), offered);
    });
}

void back_off(Index lo, Index hi, const Cpts& cpts, View<const double> counts, Index n_classes,
              Matrix<const double> prior_rows, View<double> values, View<double> left_out, View<double> gains) {
    for_each_cpt(lo, hi, cpts, counts, n_classes, [&](Index e, const Counts& cpt) {
        double *of_cell = values.data + cpts.offset[e], *without = left_out.data + cpts.offset[e];
        const Frequencies coarser = cpt.given_class(prior_rows(e, 0));
        gains[e] = 0.0;
        if (cpt.n_parents() == 1) {
            std::copy(coarser.values.begin(), coarser.values.end(), of_cell);
            std::copy(coarser.left_out.begin(), coarser.left_out.end(), without);
            return;
        }
        cpt.pull(cpt.cells(), cpt.n_parents(), coarser, prior_rows(e, 1), of_cell, without);
        double total = 0.0, gain = 0.0;
        for (Index k = 0; k < cpt.size(); ++k)
            if (const double count = cpt.cells()[k]; count > 0.0) {
                total += count;
                gain += count * std::log(without[k] / coarser.left_out[k % cpt.block()]);
            }
        if (total > 0.0) gains[e] = gain / total;
    });
}

}  // namespace tanager
