#include "batch.h"

#include <algorithm>

#include "lanes.h"

namespace tanager {

namespace {

constexpr Index rows_at_once = 16;  // rows that are turned at a time: a line of the cache for each feature

void fill_pair_lines(Index lo, Index hi, Matrix<const Index> pairs, View<const Index> cards, Index n_features,
                     Matrix<std::int32_t> batch) {
    for (Index p = 0; p < pairs.rows; ++p) {
        const Index a = pairs(p, 0), b = pairs(p, 1);
        const auto card_a = static_cast<std::int32_t>(cards[a]), card_b = static_cast<std::int32_t>(cards[b]);
        const std::int32_t *first = batch.row(a), *second = batch.row(b);
        std::int32_t* out = batch.row(n_features + p);
        for (Index n = lo; n < hi; ++n)
            out[n] = first[n] < card_a && second[n] < card_b ? first[n] * card_b + second[n] : card_a * card_b;
    }
}

// Add the lines at the places of some slots; meanwhile the CPTs that are read next, which start at ahead, are
// prefetched.
template <int T, bool has_whole>
void add_lines(const float* theta, const Index* places, const Index* ahead, Index n_slots, Index n_rows, Index n_whole,
               Index width, float* out) {
    const auto add_block = [&](auto lanes, Index n, Index c) {
        Lanes<lanes()> sum = load<lanes()>(out + n * width + c);
        for (Index k = 0; k < n_slots; ++k) sum += load<lanes()>(theta + places[k * n_rows + n] + c);
        store<lanes()>(out + n * width + c, sum);
    };
    for (Index n = 0; n < n_rows; ++n) {
        for (Index k = 0; k < n_slots; ++k) prefetch(theta + ahead[k] + 8 * n);
        for (Index c = 0; has_whole && c < n_whole; c += 8) add_block(std::integral_constant<int, 8>{}, n, c);
        if constexpr (T > 0) add_block(std::integral_constant<int, T>{}, n, n_whole);
    }
}

}  // namespace

void gather_batch(Index lo, Index hi, const Codes& codes, View<const Index> rows, Matrix<const Index> pairs,
                  View<const Index> cards, Matrix<std::int32_t> batch) {
    with_codes(codes, [&](const auto* x) {
        for (Index start = lo; start < hi; start += rows_at_once) {
            const Index stop = std::min(start + rows_at_once, hi);
            for (Index i = 0; i < codes.columns; ++i) {
                // Whatever is not a value of the feature is unknown, and unknown is the number of its values.
                const auto card = static_cast<std::uint64_t>(cards[i]);
                std::int32_t* out = batch.row(i);
                for (Index b = start; b < stop; ++b)
                    out[b] = static_cast<std::int32_t>(
                        std::min(static_cast<std::uint64_t>(x[rows[b] * codes.columns + i]), card));
            }
        }
    });
    fill_pair_lines(lo, hi, pairs, cards, codes.columns, batch);
}

void fill_places(Matrix<const std::int32_t> batch, const Cpts& cpts, Index slot, Index candidate, Index n_classes,
                 Index lo, Index hi, Index* places) {
    const Index i = cpts.child[slot], j = cpts.parent[candidate];
    const auto card = static_cast<std::int32_t>(cpts.cards[i]), card_parent = static_cast<std::int32_t>(cpts.cards[j]);
    const Index first = cpts.offset[candidate], nowhere = cpts.offset[cpts.offset.size - 1];
    const std::int32_t *x_child = batch.row(i), *x_parent = batch.row(j);
    for (Index n = lo; n < hi; ++n) {
        const bool is_known = (x_child[n] < card) & (x_parent[n] < card_parent);
        const Index line = static_cast<Index>(x_parent[n]) * card + x_child[n];
        places[n - lo] = is_known ? first + line * n_classes : nowhere;
    }
}

void batch_log_joint(Index lo, Index hi, const float* theta, View<const float> prior, Index n_members, const Cpts& cpts,
                     View<const Index> selected, Matrix<const std::int32_t> batch, ForwardScratch scratch,
                     Matrix<float> log_joint) {
    const Index n_classes = prior.size, width = log_joint.columns, n_rows = hi - lo;
    const auto members = static_cast<float>(n_members);
    const LineParts parts(n_classes);
    float* out = log_joint.row(lo);
    for (Index n = 0; n < n_rows; ++n)
        for (Index c = 0; c < n_classes; ++c) out[n * width + c] = prior[c] * members;
    for (Index first = 0; first < selected.size; first += ForwardScratch::chunk) {
        const Index n_slots = std::min(ForwardScratch::chunk, selected.size - first);
        Index ahead[ForwardScratch::chunk];
        for (Index k = 0; k < n_slots; ++k) {
            fill_places(batch, cpts, first + k, selected[first + k], n_classes, lo, hi,
                        scratch.places.data + k * n_rows);
            ahead[k] = cpts.offset[selected[std::min(first + ForwardScratch::chunk + k, selected.size - 1)]];
        }
        with_parts(parts, [&](auto tail, auto has_whole) {
            add_lines<tail(), has_whole()>(theta, scratch.places.data, ahead, n_slots, n_rows, parts.whole, width, out);
        });
    }
    if (n_members > 1)
        for (Index k = 0; k < n_rows * width; ++k) out[k] /= members;
}

}  // namespace tanager
