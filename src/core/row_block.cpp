#include "row_block.h"

namespace tanager {

namespace {

constexpr Index most_patterns = 16;

// The highest code of each feature, repeated: rows that follow each other are checked as one long row, which vectorises
// however few features there are.
template <class Code>
class KnownValues {
 public:
    KnownValues(const Network& network, const Codes& codes, Index n_patterns)
        : n_features_(codes.columns), highest_(std::make_unique_for_overwrite<Code[]>(n_features_ * n_patterns)) {
        const auto largest = static_cast<std::uint32_t>(std::min<std::uint64_t>(codes.largest(), ~std::uint32_t{0}));
        const std::uint32_t* __restrict highest = network.highest.data;
        Code* __restrict out = highest_.get();
        for (Index i = 0; i < n_features_; ++i) out[i] = static_cast<Code>(std::min(highest[i], largest));
        for (Index n = 1; n < n_patterns; ++n) std::copy_n(out, n_features_, out + n * n_features_);
    }

    bool has(const Code* rows, Index n_rows) const {
        const Code* highest = highest_.get();
        Code is_beyond = 0;
        for (Index k = 0; k < n_rows * n_features_; ++k)
            is_beyond = static_cast<Code>(is_beyond | (rows[k] > highest[k]));
        return is_beyond == 0;
    }

 private:
    Index n_features_;
    std::unique_ptr<Code[]> highest_;  // [n_patterns, D]
};

}  // namespace

void mark_rows(Index lo, Index hi, const Network& network, const Codes& codes, View<RowState> states) {
    with_codes(codes, [&](const auto* x) {
        const Index n_patterns = std::min(hi - lo, most_patterns);
        const KnownValues<std::remove_cvref_t<decltype(*x)>> known(network, codes, n_patterns);
        const auto mark = [&](Index first, Index n_rows, bool is_known) {
            std::fill_n(states.data + first, n_rows, is_known ? RowState::open : RowState::incomplete);
        };
        for (Index start = lo; start < hi; start += n_patterns) {
            const Index n_rows = std::min(n_patterns, hi - start);
            const auto* rows = x + start * codes.columns;
            if (known.has(rows, n_rows))
                mark(start, n_rows, true);
            else
                for (Index n = 0; n < n_rows; ++n) mark(start + n, 1, known.has(rows + n * codes.columns, 1));
        }
    });
}

}  // namespace tanager
