#include "counting.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sums.h"

namespace tanager {

namespace {

constexpr double least_information = 1e-12;  // nats
constexpr double most_read = 32'768.0;       // counts up to this have their logarithm in a table

// What is below rounding is nothing, so that ties between such pairs do not depend on the machine.
double above_rounding(double information) { return information > least_information ? information : 0.0; }

double x_log_x(double x) { return x > 0.0 ? x * std::log(x) : 0.0; }

// Sums of x log x over counts, in eight parts and always in the same order. Most counts are small whole numbers, for
// which reading it is faster than a logarithm.
class CountLogarithms {
 public:
    // total: the sum of all counts, which none of them is above.
    explicit CountLogarithms(double total)
        : values_(static_cast<std::size_t>(std::max(total < most_read ? total : most_read, 0.0)) + 1) {
        for (std::size_t n = 0; n < values_.size(); ++n) values_[n] = x_log_x(static_cast<double>(n));
    }

    double operator()(const double* counts, Index size) const {
        return sum(size, [&](Index k) { return of(counts[k]); });
    }

    // The same if all counts are whole numbers, and their sum is in the table.
    double of_whole(const double* counts, Index size) const {
        const double* values = values_.data();
        return sum(size, [&](Index k) { return values[static_cast<std::int32_t>(counts[k])]; });
    }

    bool has(double total) const { return total < static_cast<double>(values_.size()); }

 private:
    double of(double x) const {
        const auto n = static_cast<std::size_t>(has(x) ? x : 0.0);
        return static_cast<double>(n) == x ? values_[n] : x_log_x(x);
    }

    std::vector<double> values_;
};

// Conditional mutual information times the total count, from sums of n log n over the counts (x_j, x_i, c), (c),
// (x_j, c) and (x_i, c).
double information_of(double of_cells, double of_classes, double of_parent, double of_child) {
    return std::max(of_cells + of_classes - of_parent - of_child, 0.0);
}

// Counts (x_j, c), (x_i, c) and (c) of an array of counts [x_j, x_i, c].
struct Margins {
    Index n_classes;
    std::vector<double> of_parent, of_child, of_class;

    Margins(Index largest, Index n_classes)
        : n_classes(n_classes), of_parent(largest * n_classes), of_child(largest * n_classes), of_class(n_classes) {}

    double information(const double* counts, Index n_parents, Index n_children, const CountLogarithms& logs) {
        std::fill_n(of_parent.begin(), n_parents * n_classes, 0.0);
        std::fill_n(of_child.begin(), n_children * n_classes, 0.0);
        std::fill(of_class.begin(), of_class.end(), 0.0);
        const double* count = counts;
        for (Index j = 0; j < n_parents; ++j)
            for (Index i = 0; i < n_children; ++i)
                for (Index c = 0; c < n_classes; ++c, ++count) {
                    of_parent[j * n_classes + c] += *count;
                    of_child[i * n_classes + c] += *count;
                    of_class[c] += *count;
                }
        return information_of(logs(counts, n_parents * n_children * n_classes), logs(of_class.data(), n_classes),
                              logs(of_parent.data(), n_parents * n_classes),
                              logs(of_child.data(), n_children * n_classes));
    }
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
    Margins margins(largest, n_classes);
    double total = 0.0;
    bool is_whole = true;
    for (const double w : weight) {
        total += w;
        is_whole &= w >= 0.0 && w == std::floor(w);
    }
    const CountLogarithms logs(total);
    is_whole &= logs.has(total);
    with_codes(columns, [&](const auto* x) {
        const auto is_known = [&](Index j, Index n) {
            return static_cast<std::uint64_t>(x[j * n_rows + n]) < static_cast<std::uint64_t>(cards[j]);
        };
        // Of columns without an unknown value: the sum over their counts, which is the same in every pair.
        std::vector<char> is_complete(hi, 1);
        std::vector<double> of_column(hi), of_class(n_classes);
        for (Index n = 0; n < n_rows; ++n) of_class[y[n]] += weight[n];
        const double of_classes = logs(of_class.data(), n_classes);
        for (Index j = 0; j < hi; ++j) {
            std::fill_n(even.begin(), cards[j] * n_classes, 0.0);
            for (Index n = 0; n < n_rows && is_complete[j]; ++n) {
                is_complete[j] = is_known(j, n);
                if (is_complete[j]) even[static_cast<Index>(x[j * n_rows + n]) * n_classes + y[n]] += weight[n];
            }
            of_column[j] = logs(even.data(), cards[j] * n_classes);
        }
        for (Index i = lo; i < hi; ++i) {
            const auto* x_i = x + i * n_rows;
            for (Index n = 0; n < n_rows; ++n)
                with_class[n] = is_known(i, n) ? static_cast<Index>(x_i[n]) * n_classes + y[n] : 0;
            for (Index j = 0; j < i; ++j) {
                const auto* x_j = x + j * n_rows;
                const Index stride = cards[i] * n_classes, size = cards[j] * stride;
                double found;
                std::fill_n(even.begin(), size, 0.0);
                if (is_complete[i] && is_complete[j]) {
                    std::fill_n(odd.begin(), size, 0.0);
                    Index n = 0;
                    for (; n + 1 < n_rows; n += 2) {
                        even[static_cast<Index>(x_j[n]) * stride + with_class[n]] += weight[n];
                        odd[static_cast<Index>(x_j[n + 1]) * stride + with_class[n + 1]] += weight[n + 1];
                    }
                    if (n < n_rows) even[static_cast<Index>(x_j[n]) * stride + with_class[n]] += weight[n];
                    for (Index k = 0; k < size; ++k) even[k] += odd[k];
                    const double of_cells = is_whole ? logs.of_whole(even.data(), size) : logs(even.data(), size);
                    found = information_of(of_cells, of_classes, of_column[j], of_column[i]);
                } else {
                    for (Index n = 0; n < n_rows; ++n)
                        if (is_known(i, n) && is_known(j, n))
                            even[static_cast<Index>(x_j[n]) * stride + with_class[n]] += weight[n];
                    found = margins.information(even.data(), cards[j], cards[i], logs);
                }
                information(i, j) = above_rounding(found / total);
                information(j, i) = information(i, j);
            }
        }
    });
}

void information_of_counts(Index lo, Index hi, const Cpts& cpts, View<const double> counts, double total,
                           Index n_classes, Matrix<double> information) {
    const CountLogarithms logs(total);
    Margins margins(*std::max_element(cpts.cards.begin(), cpts.cards.end()), n_classes);
    for (Index s = lo; s < hi; ++s)
        for (Index e = cpts.ptr[s]; e < cpts.ptr[s + 1]; ++e) {
            const Index i = cpts.child[s], j = cpts.parent[e];
            if (j >= information.rows) continue;  // no parent
            const double* cells = counts.data + cpts.offset[e];
            const double found = margins.information(cells, cpts.cards[j], cpts.cards[i], logs);
            information(i, j) = above_rounding(found / total);
            information(j, i) = information(i, j);
        }
}

}  // namespace tanager
