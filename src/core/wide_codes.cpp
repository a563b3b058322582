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

}  // namespace

void widen_codes(Index lo, Index hi, const Codes& codes, Matrix<const Index> pairs, View<const Index> cards,
                 const WideCodes& wide) {
    with_codes(codes, [&](const auto* x) {
        const auto fill = [&](auto* out) { fill_rows(lo, hi, codes, x, pairs, cards, out); };
        switch (wide.width) {
            case 1:
                return fill(static_cast<std::uint8_t*>(wide.data));
            case 2:
                return fill(static_cast<std::uint16_t*>(wide.data));
            case 4:
                return fill(static_cast<std::uint32_t*>(wide.data));
            default:
                return fill(static_cast<std::uint64_t*>(wide.data));
        }
    });
}

}  // namespace tanager
