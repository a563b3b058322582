#include "counting.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tanager {

namespace {

constexpr double least_information = 1e-12;  // nats

// What is below rounding is nothing, so that ties between such pairs do not depend on the machine.
double above_rounding(double information) { return information > least_information ? information : 0.0; }

double x_log_x(double x) { return x > 0.0 ? x * std::log(x) : 0.0; }

// x log x of the first whole numbers, which most counts are: reading it is faster than a logarithm.
class ShortLogarithms {
 public:
    ShortLogarithms() : values_(4096) {
        for (std::size_t n = 0; n < values_.size(); ++n) values_[n] = x_log_x(static_cast<double>(n));
    }

    double operator()(double x) const {
        const auto n = static_cast<std::size_t>(x < 4096.0 ? x : 0.0);
        return static_cast<double>(n) == x ? values_[n] : x_log_x(x);
    }

 private:
    std::vector<double> values_;
};

// Conditional mutual information of one array of counts [x_j, x_i, c], times the total count.
//
// With H the sum of n log n: H(x_j, x_i, c) + H(c) - H(x_j, c) - H(x_i, c).
class InformationOfCounts {
 public:
    InformationOfCounts(Index largest, Index n_classes)
        : n_classes_(n_classes),
          of_parent_(largest * n_classes),
          of_child_(largest * n_classes),
          of_class_(n_classes) {}

    double operator()(const double* counts, Index n_parents, Index n_children) {
        std::fill_n(of_parent_.begin(), n_parents * n_classes_, 0.0);
        std::fill_n(of_child_.begin(), n_children * n_classes_, 0.0);
        std::fill(of_class_.begin(), of_class_.end(), 0.0);
        double information = 0.0;
        const double* count = counts;
        for (Index j = 0; j < n_parents; ++j)
            for (Index i = 0; i < n_children; ++i)
                for (Index c = 0; c < n_classes_; ++c, ++count) {
                    information += x_log_x_(*count);
                    of_parent_[j * n_classes_ + c] += *count;
                    of_child_[i * n_classes_ + c] += *count;
                    of_class_[c] += *count;
                }
        for (Index c = 0; c < n_classes_; ++c) {
            information += x_log_x_(of_class_[c]);
            for (Index j = 0; j < n_parents; ++j) information -= x_log_x_(of_parent_[j * n_classes_ + c]);
            for (Index i = 0; i < n_children; ++i) information -= x_log_x_(of_child_[i * n_classes_ + c]);
        }
        return std::max(information, 0.0);
    }

 private:
    Index n_classes_;
    ShortLogarithms x_log_x_;
    std::vector<double> of_parent_, of_child_, of_class_;
};

}  // namespace

void count_cpts(Index lo, Index hi, const Codes& codes, View<const Index> y, View<const double> weight,
                const Cpts& cpts, Index n_classes, View<double> counts) {
    with_codes(codes, [&](const auto* x) {
        for (Index s = lo; s < hi; ++s) {
            const Index i = cpts.child[s], card = cpts.cards[i];
            for (Index e = cpts.ptr[s]; e < cpts.ptr[s + 1]; ++e) {
                const Index j = cpts.parent[e], card_parent = cpts.cards[j];
                double* out = counts.data + cpts.offset[e];
                for (Index n = 0; n < codes.rows; ++n) {
                    const auto* row = x + n * codes.columns;
                    const auto value = static_cast<std::uint64_t>(row[i]);
                    const auto above = j == codes.columns ? std::uint64_t{0} : static_cast<std::uint64_t>(row[j]);
                    if (value < static_cast<std::uint64_t>(card) && above < static_cast<std::uint64_t>(card_parent))
                        out[(static_cast<Index>(above) * card + static_cast<Index>(value)) * n_classes + y[n]] +=
                            weight[n];
                }
            }
        }
    });
}

void pair_information(Index lo, Index hi, const Codes& columns, View<const Index> y, View<const double> weight,
                      View<const Index> cards, Index n_classes, Matrix<double> information) {
    const Index n_rows = columns.columns;
    const Index largest = *std::max_element(cards.begin(), cards.end());
    // Weights are added into two arrays by turns, so that one addition need not wait for the other.
    std::vector<double> even(largest * largest * n_classes), odd(largest * largest * n_classes);
    std::vector<Index> with_class(n_rows);
    InformationOfCounts information_of(largest, n_classes);
    double total = 0.0;
    for (const double w : weight) total += w;
    with_codes(columns, [&](const auto* x) {
        std::vector<char> is_complete(hi);
        for (Index j = 0; j < hi; ++j)
            is_complete[j] = std::all_of(x + j * n_rows, x + (j + 1) * n_rows, [&](auto code) {
                return static_cast<std::uint64_t>(code) < static_cast<std::uint64_t>(cards[j]);
            });
        for (Index i = lo; i < hi; ++i) {
            const auto* x_i = x + i * n_rows;
            for (Index n = 0; n < n_rows; ++n) {
                const bool is_known = static_cast<std::uint64_t>(x_i[n]) < static_cast<std::uint64_t>(cards[i]);
                with_class[n] = is_known ? static_cast<Index>(x_i[n]) * n_classes + y[n] : 0;
            }
            for (Index j = 0; j < i; ++j) {
                const auto* x_j = x + j * n_rows;
                const Index stride = cards[i] * n_classes, size = cards[j] * stride;
                std::fill_n(even.begin(), size, 0.0);
                std::fill_n(odd.begin(), size, 0.0);
                if (is_complete[i] && is_complete[j]) {
                    Index n = 0;
                    for (; n + 1 < n_rows; n += 2) {
                        even[static_cast<Index>(x_j[n]) * stride + with_class[n]] += weight[n];
                        odd[static_cast<Index>(x_j[n + 1]) * stride + with_class[n + 1]] += weight[n + 1];
                    }
                    if (n < n_rows) even[static_cast<Index>(x_j[n]) * stride + with_class[n]] += weight[n];
                } else {
                    for (Index n = 0; n < n_rows; ++n)
                        if (static_cast<std::uint64_t>(x_i[n]) < static_cast<std::uint64_t>(cards[i]) &&
                            static_cast<std::uint64_t>(x_j[n]) < static_cast<std::uint64_t>(cards[j]))
                            even[static_cast<Index>(x_j[n]) * stride + with_class[n]] += weight[n];
                }
                for (Index k = 0; k < size; ++k) even[k] += odd[k];
                const double found = above_rounding(information_of(even.data(), cards[j], cards[i]) / total);
                information(i, j) = found;
                information(j, i) = found;
            }
        }
    });
}

void information_of_counts(Index lo, Index hi, const Cpts& cpts, View<const double> counts, double total,
                           Index n_classes, Matrix<double> information) {
    InformationOfCounts information_of(*std::max_element(cpts.cards.begin(), cpts.cards.end()), n_classes);
    for (Index s = lo; s < hi; ++s)
        for (Index e = cpts.ptr[s]; e < cpts.ptr[s + 1]; ++e) {
            const Index i = cpts.child[s], j = cpts.parent[e];
            if (j >= information.rows) continue;  // no parent
            const double* cells = counts.data + cpts.offset[e];
            const double found = above_rounding(information_of(cells, cpts.cards[j], cpts.cards[i]) / total);
            information(i, j) = found;
            information(j, i) = found;
        }
}

}  // namespace tanager
