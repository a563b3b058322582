#include "discretising.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

namespace tanager {

namespace {

constexpr Index largest_table = Index{1} << 24;

// A row as it is sorted: whole numbers in the order of its value, with what is needed of the row.
struct Row {
    std::uint64_t key;
    std::int32_t cls;
    std::uint32_t number;
};

constexpr std::uint64_t sign_bit = std::uint64_t{1} << 63;

std::uint64_t key_of(double value) {
    const std::uint64_t bits = value == 0.0 ? 0 : std::bit_cast<std::uint64_t>(value);  // -0.0 equals 0.0
    return bits & sign_bit ? ~bits : bits | sign_bit;
}

double value_of(std::uint64_t key) { return std::bit_cast<double>(key & sign_bit ? key ^ sign_bit : ~key); }

bool is_lower(const Row& a, const Row& b) { return a.key < b.key; }

// Sort rows by the upper bits of their keys, digit by digit from the lowest; digits that all keys share are skipped.
// What few rows have the same upper bits is put in order afterwards, which is faster than three more digits.
void sort_rows(std::vector<Row>& rows) {
    constexpr int digit_bits = 11, n_digits = 3, lower_bits = 64 - n_digits * digit_bits;
    constexpr std::size_t few_rows = 200;  // which are in order before the digits are counted
    constexpr std::uint64_t mask = (1 << digit_bits) - 1;
    if (rows.size() <= few_rows) return std::sort(rows.begin(), rows.end(), is_lower);
    std::vector<std::array<std::uint32_t, mask + 1>> counts(n_digits);
    for (const Row& row : rows)
        for (int d = 0; d < n_digits; ++d) ++counts[d][row.key >> (lower_bits + digit_bits * d) & mask];
    std::vector<Row> sorted(rows.size());
    for (int d = 0; d < n_digits; ++d) {
        const int shift = lower_bits + digit_bits * d;
        if (counts[d][rows[0].key >> shift & mask] == rows.size()) continue;
        std::uint32_t next = 0;
        for (std::uint32_t& place : counts[d]) next += std::exchange(place, next);
        for (const Row& row : rows) sorted[counts[d][row.key >> shift & mask]++] = row;
        rows.swap(sorted);
    }
    for (auto start = rows.begin(); start != rows.end();) {
        auto stop = start + 1;
        bool is_sorted = true;
        for (; stop != rows.end() && stop->key >> lower_bits == start->key >> lower_bits; ++stop)
            is_sorted = is_sorted && !is_lower(*stop, *(stop - 1));
        if (!is_sorted) std::sort(start, stop, is_lower);
        start = stop;
    }
}

// The rows that are used, sorted by value.
std::vector<Row> sorted_rows(const ClassedRows& rows, View<const double> values) {
    std::vector<Row> sorted;
    sorted.reserve(values.size);
    for (Index n = 0; n < values.size; ++n)
        if (!std::isnan(values[n]) && (rows.weight.empty() || rows.weight[n] > 0))
            sorted.push_back({key_of(values[n]), rows.y[n], static_cast<std::uint32_t>(n)});
    sort_rows(sorted);
    return sorted;
}

struct Cell {
    Index weight;
    std::int32_t cls;
};

// Groups of sorted rows: group g holds the cells ptr[g] to ptr[g + 1], one for each of its classes.
struct Groups {
    std::vector<std::uint32_t> ptr;    // [G + 1]
    std::vector<std::uint32_t> first;  // [G + 1]: number of the first row
    std::vector<Cell> cells;

    Index size() const { return static_cast<Index>(ptr.size()) - 1; }
};

Groups group_rows(const std::vector<Row>& sorted, const ClassedRows& rows) {
    Groups groups;
    // Pages that are not used cost nothing, and copies of growing arrays would cost more than all the rest.
    groups.ptr.reserve(sorted.size() + 1);
    groups.first.reserve(sorted.size() + 1);
    groups.cells.reserve(sorted.size());
    const auto n_rows = static_cast<std::uint32_t>(sorted.size());
    std::vector<Index> cell_of(rows.n_classes, -1);
    for (std::uint32_t n = 0; n < n_rows;) {
        const std::uint32_t first = n;
        const auto start = static_cast<Index>(groups.cells.size());
        for (; n < n_rows && sorted[n].key == sorted[first].key; ++n) {
            Index& cell = cell_of[sorted[n].cls];
            if (cell < start) {
                cell = static_cast<Index>(groups.cells.size());
                groups.cells.push_back({0, sorted[n].cls});
            }
            groups.cells[cell].weight += rows.weight.empty() ? 1 : rows.weight[sorted[n].number];
        }
        const bool is_pure = static_cast<Index>(groups.cells.size()) == start + 1;
        const bool was_pure = start > 0 && groups.ptr.back() == start - 1;
        if (is_pure && was_pure && groups.cells[start].cls == groups.cells[start - 1].cls) {
            groups.cells[start - 1].weight += groups.cells[start].weight;
            groups.cells.pop_back();
            cell_of[groups.cells[start - 1].cls] = start - 1;
        } else {
            groups.ptr.push_back(static_cast<std::uint32_t>(start));
            groups.first.push_back(first);
        }
    }
    groups.ptr.push_back(static_cast<std::uint32_t>(groups.cells.size()));
    groups.first.push_back(n_rows);
    return groups;
}

// Groups lo to hi, a bin of the cuts so far.
struct Range {
    static constexpr Index unknown = -1;
    Index lo, hi;
    Index gap = 0;         // the group below the gap to split at
    Index gain = unknown;  // what that gains; 0 if the range is not to be split
};

// Bits that a cut costs apart from the change of entropies: log2(N - 1) + log2(3^k - 2).
double description_length(double n_rows, Index k) {
    const auto n_classes = static_cast<double>(k);
    return std::log2(n_rows - 1.0) + n_classes * std::log2(3.0) + std::log2(1.0 - 2.0 * std::pow(3.0, -n_classes));
}

class GapFinder {
 public:
    GapFinder(const Groups& groups, const ClassedRows& rows)
        : groups_(groups), logs_(rows.logs), rounding_(8 * (rows.n_classes + 1)), tally_(rows.n_classes) {}

    // By how many fixed-point units two equal gains may differ: each is a sum of 2 C + 3 terms.
    Index rounding() const { return rounding_; }

    // Find where to split a range, and what that gains.
    void find(Range& range, bool best_passing) {
        for (Tally& of : tally_) of.total = 0;
        for (std::uint32_t k = groups_.ptr[range.lo]; k < groups_.ptr[range.hi]; ++k)
            tally_[groups_.cells[k].cls].total += groups_.cells[k].weight;
        Split best = best_split(range, false);
        if (!best.passes && best_passing) best = best_split(range, true);
        range.gap = best.gap;
        range.gain = best.passes ? best.gain : 0;
    }

 private:
    // Weights of one class in the range and to the left of a gap, and x log2 x of the weights on both sides.
    struct Tally {
        Index total, left, left_term, right_term;
    };
    struct Split {
        Index gap = 0, gain = 0;
        bool passes = false;
    };

    // The gap of largest gain, of all gaps or of those that pass the MDL test.
    //
    // A gain is the information in all rows of the range, in fixed point: N E - N1 E1 - N2 E2. The lower of two gaps
    // whose gains differ by no more than rounding wins.
    Split best_split(const Range& range, bool only_passing) {
        Index n_total = 0, k = 0, sum_left = 0, sum_right = 0;
        for (Tally& of : tally_) {
            of = {of.total, 0, 0, logs_(of.total)};
            n_total += of.total;
            k += of.total > 0;
            sum_right += of.right_term;
        }
        Split best;
        if (k < 2 || logs_.rows(n_total) < 2.0) return best;
        const Index information = logs_(n_total) - sum_right;
        const double length = description_length(logs_.rows(n_total), k) * logs_.scale;
        Index n_left = 0, k_left = 0, k_right = k;
        for (Index g = range.lo; g < range.hi - 1; ++g) {
            for (std::uint32_t cell = groups_.ptr[g]; cell < groups_.ptr[g + 1]; ++cell) {
                const Index weight = groups_.cells[cell].weight;
                Tally& of = tally_[groups_.cells[cell].cls];
                k_left += of.left == 0;
                n_left += weight;
                of.left += weight;
                const Index rest = of.total - of.left;
                k_right -= rest == 0;
                const Index left_term = logs_(of.left), right_term = logs_(rest);
                sum_left += left_term - of.left_term;
                sum_right += right_term - of.right_term;
                of.left_term = left_term;
                of.right_term = right_term;
            }
            const Index n_right = n_total - n_left;
            const Index left = logs_(n_left) - sum_left, right = logs_(n_right) - sum_right;
            const Index gain = information - left - right;
            if (gain > best.gain + rounding_) {
                // k E - k1 E1 - k2 E2, where information is N E in fixed point, left is N1 E1 and right is N2 E2
                const double change = (times_mean(k, information, n_total) - times_mean(k_left, left, n_left) -
                                       times_mean(k_right, right, n_right)) /
                                      logs_.unit;
                const bool passes = static_cast<double>(gain) > length - change;
                if (passes || !only_passing) best = {g, gain, passes};
            }
        }
        return best;
    }

    static double times_mean(Index k, Index sum, Index n) {
        return static_cast<double>(k) * (static_cast<double>(sum) / static_cast<double>(n));
    }

    const Groups& groups_;
    const Logs& logs_;
    Index rounding_;
    std::vector<Tally> tally_;  // [C]
};

// The ranges that are left when those that gain most have been split, until none can be or there are enough. The lower
// of two ranges whose gains differ by no more than rounding goes first.
std::vector<Range> split_groups(const Groups& groups, const ClassedRows& rows, bool best_passing, Index max_bins) {
    GapFinder finder(groups, rows);
    std::vector<Range> ranges{{0, groups.size()}};
    while (static_cast<Index>(ranges.size()) < max_bins) {
        Range* best = &ranges[0];
        for (Range& range : ranges) {
            if (range.gain == Range::unknown) finder.find(range, best_passing);
            const Index ahead = range.gain - best->gain;
            if (ahead > finder.rounding() || (ahead >= -finder.rounding() && range.lo < best->lo)) best = &range;
        }
        if (best->gain == 0) break;
        const Range upper{best->gap + 1, best->hi};
        *best = {best->lo, best->gap + 1};
        ranges.push_back(upper);
    }
    return ranges;
}

}  // namespace

Logs::Logs(Index largest, double unit) : unit(unit) {
    const double n_rows = std::max(rows(largest), 2.0);
    int exponent = 0;
    std::frexp(n_rows * std::log2(n_rows), &exponent);
    scale = std::ldexp(1.0, bits - exponent);
    // Weights that are no whole numbers of rows are spread too thin for a table.
    table_.resize(unit == 1.0 ? std::min(largest + 1, largest_table) : 1);
    for (Index x = 1; x < static_cast<Index>(table_.size()); ++x) table_[x] = compute(x);
}

Index Logs::compute(Index weight) const {
    return static_cast<Index>(std::floor(rows(weight) * std::log2(rows(weight)) * scale + 0.5));
}

Gaps find_gaps(const ClassedRows& rows, View<const double> values, bool best_passing, Index max_bins) {
    const std::vector<Row> sorted = sorted_rows(rows, values);
    const Groups groups = group_rows(sorted, rows);
    if (groups.size() < 2) return {};
    std::vector<Range> ranges = split_groups(groups, rows, best_passing, max_bins);
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.lo < b.lo; });
    Gaps gaps;
    for (std::size_t r = 1; r < ranges.size(); ++r) {
        const std::uint32_t first = groups.first[ranges[r].lo];
        gaps.below.push_back(value_of(sorted[first - 1].key));
        gaps.above.push_back(value_of(sorted[first].key));
    }
    return gaps;
}

}  // namespace tanager
