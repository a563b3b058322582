#include "wide_codes.h"

namespace tanager {

namespace {

template <class Code, class Wide>
void fill_rows(Index lo, Index hi, const Codes& codes, const Code* x, Matrix<const Index> pairs,
               View<const Index> cards, Wide* wide) {
    const Index n_features = codes.columns;
    const auto known = [&, largest = codes.largest()](Code code, Index i) {
        const std::uint64_t card = static_cast<std::uint64_t>(cards[i]), value = code;
        return value > largest || value > card ? cards[i] : static_cast<Index>(value);
    };
    for (Index n = lo; n < hi; ++n) {
        const Code* row = x + n * n_features;
        Wide* out = wide + n * (n_features + pairs.rows);
        for (Index i = 0; i < n_features; ++i) out[i] = static_cast<Wide>(known(row[i], i));
        for (Index p = 0; p < pairs.rows; ++p) {
            const Index a = pairs(p, 0), b = pairs(p, 1), x_a = known(row[a], a), x_b = known(row[b], b);
            const bool is_known = x_a < cards[a] && x_b < cards[b];
            out[n_features + p] = static_cast<Wide>(is_known ? x_a * cards[b] + x_b : cards[a] * cards[b]);
        }
    }
}

template <class Code, class Wide>
void fill_groups(Index lo, Index hi, const Codes& codes, const Code* x, const Groups& groups, Wide* wide) {
    const Index n_features = codes.columns;
    const std::uint64_t largest = codes.largest();
    for (Index n = lo; n < hi; ++n) {
        const Code* row = x + n * n_features;
        Wide* out = wide + 2 * n * n_features;
        for (Index i = 0; i < n_features; ++i) {
            const Index first = groups.start[i], card = groups.start[i + 1] - first;
            const std::uint64_t value = row[i];
            const bool is_known = value <= largest && value < static_cast<std::uint64_t>(card);
            out[i] = static_cast<Wide>(is_known ? static_cast<Index>(row[i]) : card);
            const Index group = is_known ? groups.of_value[first + static_cast<Index>(row[i])] : groups.cards[i];
            out[n_features + i] = static_cast<Wide>(group);
        }
    }
}

// Call a function with a pointer to the codes to be filled in their own type.
template <class Function>
void with_wide(const WideCodes& wide, Function&& function) {
    switch (wide.width) {
        case 1:
            return function(static_cast<std::uint8_t*>(wide.data));
        case 2:
            return function(static_cast<std::uint16_t*>(wide.data));
        case 4:
            return function(static_cast<std::uint32_t*>(wide.data));
        default:
            return function(static_cast<std::uint64_t*>(wide.data));
    }
}

}  // namespace

void widen_codes(Index lo, Index hi, const Codes& codes, Matrix<const Index> pairs, View<const Index> cards,
                 const WideCodes& wide) {
    with_codes(codes, [&](const auto* x) {
        with_wide(wide, [&](auto* out) { fill_rows(lo, hi, codes, x, pairs, cards, out); });
    });
}

void group_codes(Index lo, Index hi, const Codes& codes, const Groups& groups, const WideCodes& wide) {
    with_codes(codes,
               [&](const auto* x) { with_wide(wide, [&](auto* out) { fill_groups(lo, hi, codes, x, groups, out); }); });
}

}  // namespace tanager
