#include "short_sums.h"

#include <cmath>
#include <vector>

namespace tanager {

namespace {

constexpr Index n_together = 16;                 // slots over which a class has its points
constexpr std::int32_t impossible = -(1 << 30);  // start of a total that no other class can fall below
constexpr Index most_totals = Index{1} << 16;    // sums of a block of rows, so that they stay in the cache
constexpr Index most_slots = Index{1} << 18;     // so that totals stay within 32 bits
constexpr std::int32_t most_classes = 1 << 15;   // so that their count and the sum of their numbers fit in 32 bits

constexpr bool is_little_endian = std::endian::native == std::endian::little;

template <class T, int N>
struct VectorOf {
    typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <class T, int N>
using Vector = typename VectorOf<T, N>::type;
template <int W>
using Points = Vector<std::uint16_t, W>;
template <int W>
using Totals = Vector<std::int32_t, W>;

template <class V, class T>
V read(const T* place) {
    V value;
    std::memcpy(&value, place, sizeof value);
    return value;
}

template <class V, class T>
void write(T* place, V value) {
    std::memcpy(place, &value, sizeof value);
}

// The numbers of the lanes.
template <int W>
Totals<W> numbers() {
    constexpr std::int32_t all[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return read<Totals<W>>(all);
}

constexpr auto higher = [](auto a, auto b) { return a > b ? a : b; };
constexpr auto sum = [](auto a, auto b) { return a + b; };

// Join N lanes by an operation in which their order does not matter.
template <int N, class V, class Operation>
auto across(V v, Operation&& join) {
    using T = std::remove_cvref_t<decltype(v[0])>;
    if constexpr (N == 2) {
        return join(T{v[0]}, T{v[1]});
    } else {
        Vector<T, N / 2> halves[2];
        std::memcpy(halves, &v, sizeof v);
        return across<N / 2>(join(halves[0], halves[1]), join);
    }
}

// The points that the lines at every step-th of the places leave, never below zero.
//
// Of max(a, b) - b compilers make one instruction (clang) or two (gcc 12); of other forms gcc makes more.
template <int W>
Points<W> points_left(const std::uint16_t* first, const Place* places, Index step, Index n_slots) {
    Points<W> points = ~Points<W>{};
    for (Index k = 0; k < n_slots; ++k) {
        const auto steps = read<Points<W>>(first + places[k * step]);
        points = higher(points, steps) - steps;
    }
    return points;
}

// The points of every second class, in 32 bits: two instructions, where to widen each half takes gcc 12 four of
// AVX-512.
template <class V>
auto even_of(V points) {
    const auto pairs = std::bit_cast<Totals<sizeof(V) / sizeof(std::int32_t)>>(points);
    return is_little_endian ? pairs & 0xFFFF : pairs >> 16 & 0xFFFF;
}

// The points of the others.
template <class V>
auto odd_of(V points) {
    const auto pairs = std::bit_cast<Totals<sizeof(V) / sizeof(std::int32_t)>>(points);
    return is_little_endian ? pairs >> 16 & 0xFFFF : pairs & 0xFFFF;
}

// The most probable classes of rows, a block at a time. Totals have, for every W classes, first the even ones.
template <class Code, int W>
class ShortSums {
 public:
    ShortSums(const Network& network, Matrix<std::uint16_t> steps, const Codes& codes, Index n_rows)
        : network_(network),
          steps_(steps),
          width_(steps.columns),
          block_(codes, std::clamp<Index>(most_totals / width_, 1, n_rows)),
          start_(width_, impossible),
          totals_(block_.room() * width_),
          fewest_(block_.room() * width_) {
        const double* prior = network.prior.data;
        const double top = *std::max_element(prior, prior + network.n_classes);
        for (Index c = 0; c < network.n_classes; ++c) {
            const double step = std::rint((prior[c] - top) * double{steps_per_unit});
            const Index place = c / W * W + c % 2 * H + c % W / 2;
            if (step > impossible) start_[place] = static_cast<std::int32_t>(step);  // not so if it is not a number
        }
    }

    // Take up a row; when there are enough of them, settle them.
    void add(Index row, View<RowState> states, View<Index> classes) {
        block_.add(row);
        if (block_.is_full()) settle(states, classes);
    }

    // Settle those of the rows that were taken up where only one class can be the best.
    void settle(View<RowState> states, View<Index> classes) {
        add_up();
        for (Index n = 0; n < block_.size(); ++n) {
            const Index best = only_near(totals_.data() + n * width_);
            if (best >= 0 && fewest_[n * width_ + best] > 0) {
                classes[block_.row(n)] = best;
                states[block_.row(n)] = RowState::settled;
            }
        }
        block_.clear();
    }

 private:
    void add_up() {
        block_.turn();
        for (Index first = 0; first < network_.slots.size; first += n_together) {
            const auto slots = network_.slots.slice(first, std::min(first + n_together, network_.slots.size));
            block_.find_places(slots, width_, places_);
            for (Index n = 0; n < block_.size(); ++n)
                for (Index c = 0; c < width_; c += W) add_chunk(first == 0, slots.size, n, c);
        }
    }

    void add_chunk(bool is_first, Index n_slots, Index n, Index c) {
        const std::uint16_t* lines = steps_.data + c;
        std::int32_t* totals = totals_.data() + n * width_ + c;
        std::uint16_t* fewest = fewest_.data() + n * width_ + c;
        // The usual number of slots is given as a constant, so that the compiler unrolls the loop over them.
        const auto points = n_slots == n_together ? points_left<W>(lines, places_ + n, block_.room(), n_together)
                                                  : points_left<W>(lines, places_ + n, block_.room(), n_slots);
        const auto before = is_first ? points : read<Points<W>>(fewest);
        write(fewest, before < points ? before : points);
        const std::int32_t* start = is_first ? start_.data() + c : totals;
        write(totals, read<Totals<H>>(start) + even_of(points));
        write(totals + H, read<Totals<H>>(start + H) + odd_of(points));
    }

    // The one class that can be the best; negative if there are more.
    Index only_near(const std::int32_t* totals) const {
        const Index n_slots = network_.slots.size;
        auto tops = read<Totals<H>>(totals);
        for (Index c = H; c < width_; c += H) tops = higher(tops, read<Totals<H>>(totals + c));
        const auto bound = across<H>(tops, higher) - static_cast<std::int32_t>(n_slots + n_slots / 32 + 3);
        // Classes whose prior is too low for the steps, and those that there are not, have at most this.
        const auto n_rounds = static_cast<std::int32_t>((n_slots + n_together - 1) / n_together);
        if (bound <= impossible + n_rounds * all_points) return -1;
        Totals<H> near{};  // in one number the count of near classes and, below it, the sum of their numbers
        for (Index c = 0; c < width_; c += W) {
            const auto even = 2 * numbers<H>() + (most_classes + static_cast<std::int32_t>(c));
            near += (read<Totals<H>>(totals + c) >= bound) & even;
            near += (read<Totals<H>>(totals + c + H) >= bound) & (even + 1);
        }
        const std::int32_t found = across<H>(near, sum);
        return found / most_classes == 1 ? found % most_classes : -1;
    }

    static constexpr int H = W / 2;  // classes that are added up at once

    const Network& network_;
    Matrix<std::uint16_t> steps_;
    Index width_;
    RowBlock<Code> block_;
    std::vector<std::int32_t> start_;    // [W]: the prior
    std::vector<std::int32_t> totals_;   // [B, W]
    std::vector<std::uint16_t> fewest_;  // [B, W]: the fewest points that were left over any slots
    Place places_[n_together * RowBlock<Code>::most_rows];
};

constexpr int H = lanes_of_points / 2;  // entries that are shortened at once

// Fill out with the steps of a line below its highest entry.
void shorten_line(const float* line, Index n_classes, std::uint16_t* out) {
    constexpr auto bottom = static_cast<float>(all_points);
    const auto is_class = [&](Index c) { return numbers<H>() < static_cast<std::int32_t>(n_classes - c); };
    const auto entries = [&](Index c) { return is_class(c) ? load<H>(line + c) : Lanes<H>{} + line[0]; };
    auto tops = entries(0);
    for (Index c = H; c < n_classes; c += H) tops = higher(tops, entries(c));
    const float top = across<H>(tops, higher);
    for (Index c = 0; c < n_classes; c += H) {
        const Lanes<H> exact = (top - entries(c)) * steps_per_unit + 0.5f;
        // If no class is possible, the steps are not a number, and all of them are at the bottom.
        const Lanes<H> steps = exact < bottom ? exact : Lanes<H>{} + bottom;
        write(out + c, __builtin_convertvector(__builtin_convertvector(steps, Totals<H>) & is_class(c), Points<H>));
    }
}

}  // namespace

bool can_shorten(const Network& network) {
    return network.slots.size <= most_slots && network.n_classes < most_classes &&
           network.n_lines <= (Index{1} << 32) / short_width(network.n_classes);
}

// Measured: up to eight classes exact sums are as fast, and to shorten a line takes the time that 12 readings save.
bool pays_to_shorten(const Network& network, Index n_rows) {
    return network.n_classes > 8 && n_rows * network.slots.size >= 12 * network.n_lines && can_shorten(network);
}

void shorten_lines(Index lo, Index hi, const float* theta, Index n_classes, Matrix<std::uint16_t> steps) {
    const Index n_filled = padded(n_classes, H);
    for (Index k = lo; k < hi; ++k) {
        std::uint16_t* out = steps.row(k);
        shorten_line(theta + k * n_classes, n_classes, out);
        std::fill(out + n_filled, out + steps.columns, std::uint16_t{0});
    }
}

void settle_classes(Index lo, Index hi, const Network& network, Matrix<std::uint16_t> steps, const Codes& codes,
                    View<RowState> states, View<Index> classes) {
    if (lo == hi) return;
    with_codes(codes, [&](const auto* x) {
        using Code = std::remove_cvref_t<decltype(*x)>;
        const auto settle_with = [&](auto sums) {
            for (Index n = lo; n < hi; ++n)
                if (states[n] == RowState::open) sums.add(n, states, classes);
            sums.settle(states, classes);
        };
        if constexpr (sizeof(Code) == 1 && most_lanes_of_points > lanes_of_points) {  // wider codes are rare
            if (steps.columns % most_lanes_of_points == 0)
                return settle_with(ShortSums<Code, most_lanes_of_points>(network, steps, codes, hi - lo));
        }
        settle_with(ShortSums<Code, lanes_of_points>(network, steps, codes, hi - lo));
    });
}

}  // namespace tanager
