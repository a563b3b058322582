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

constexpr int W = lanes_of_points;  // classes that points are taken from at once
constexpr int H = W / 2;            // classes that are added up at once

typedef std::uint16_t Points __attribute__((vector_size(W * sizeof(std::uint16_t))));
typedef std::uint16_t HalfPoints __attribute__((vector_size(H * sizeof(std::uint16_t))));
typedef std::int32_t Totals __attribute__((vector_size(H * sizeof(std::int32_t))));

template <class Vector, class T>
Vector read(const T* place) {
    Vector value;
    std::memcpy(&value, place, sizeof value);
    return value;
}

template <class Vector, class T>
void write(T* place, Vector value) {
    std::memcpy(place, &value, sizeof value);
}

// The numbers of the lanes.
Totals numbers() {
    constexpr std::int32_t all[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    return read<Totals>(all);
}

constexpr auto higher = [](auto a, auto b) { return a > b ? a : b; };
constexpr auto sum = [](auto a, auto b) { return a + b; };

// Join H lanes by an operation in which their order does not matter.
template <class Vector, class Operation>
auto across(Vector v, Operation&& join) {
    if constexpr (H == 8) {
        v = join(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3));
        v = join(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5));
        v = join(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6));
    } else {
        v = join(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));
        v = join(v, __builtin_shufflevector(v, v, 1, 0, 3, 2));
    }
    return v[0];
}

// The points that the lines at every step-th of the places leave, never below zero.
//
// Of max(a, b) - b compilers make one instruction (clang) or two (gcc 12); of other forms gcc makes more.
Points points_left(const std::uint16_t* first, const Place* places, Index step, Index n_slots) {
    Points points = ~Points{};
    for (Index k = 0; k < n_slots; ++k) {
        const auto steps = read<Points>(first + places[k * step]);
        points = higher(points, steps) - steps;
    }
    return points;
}

// The first or second half of the points, in 32 bits.
template <bool is_second, class Vector>
Totals half_of(Vector v) {
    constexpr int first = is_second ? H : 0;
    if constexpr (sizeof v == 16 * sizeof(std::uint16_t))
        return __builtin_convertvector(__builtin_shufflevector(v, v, first, first + 1, first + 2, first + 3, first + 4,
                                                               first + 5, first + 6, first + 7),
                                       Totals);
    else
        return __builtin_convertvector(__builtin_shufflevector(v, v, first, first + 1, first + 2, first + 3), Totals);
}

// The most probable classes of rows, a block at a time.
template <class Code>
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
            if (step > impossible) start_[c] = static_cast<std::int32_t>(step);  // not so if it is not a number
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
        const Points points = n_slots == n_together ? points_left(lines, places_ + n, block_.room(), n_together)
                                                    : points_left(lines, places_ + n, block_.room(), n_slots);
        const auto before = is_first ? points : read<Points>(fewest);
        write(fewest, before < points ? before : points);
        const std::int32_t* start = is_first ? start_.data() + c : totals;
        write(totals, read<Totals>(start) + half_of<false>(points));
        write(totals + H, read<Totals>(start + H) + half_of<true>(points));
    }

    // The one class that can be the best; negative if there are more.
    Index only_near(const std::int32_t* totals) const {
        const Index n_slots = network_.slots.size;
        auto tops = read<Totals>(totals);
        for (Index c = H; c < width_; c += H) tops = higher(tops, read<Totals>(totals + c));
        const auto bound = across(tops, higher) - static_cast<std::int32_t>(n_slots + n_slots / 32 + 3);
        // Classes whose prior is too low for the steps, and those that there are not, have at most this.
        const auto n_rounds = static_cast<std::int32_t>((n_slots + n_together - 1) / n_together);
        if (bound <= impossible + n_rounds * all_points) return -1;
        Totals near{};  // in one number the count of near classes and, below it, the sum of their numbers
        for (Index c = 0; c < width_; c += H)
            near += (read<Totals>(totals + c) >= bound) & (numbers() + (most_classes + static_cast<std::int32_t>(c)));
        const std::int32_t found = across(near, sum);
        return found / most_classes == 1 ? found % most_classes : -1;
    }

    const Network& network_;
    Matrix<std::uint16_t> steps_;
    Index width_;
    RowBlock<Code> block_;
    std::vector<std::int32_t> start_;    // [W]: the prior
    std::vector<std::int32_t> totals_;   // [B, W]
    std::vector<std::uint16_t> fewest_;  // [B, W]: the fewest points that were left over any slots
    Place places_[n_together * RowBlock<Code>::most_rows];
};

// Fill out with the steps of a line below its highest entry.
void shorten_line(const float* line, Index n_classes, std::uint16_t* out) {
    constexpr auto bottom = static_cast<float>(all_points);
    const auto is_class = [&](Index c) { return numbers() < static_cast<std::int32_t>(n_classes - c); };
    const auto entries = [&](Index c) { return is_class(c) ? load<H>(line + c) : Lanes<H>{} + line[0]; };
    auto tops = entries(0);
    for (Index c = H; c < n_classes; c += H) tops = higher(tops, entries(c));
    const float top = across(tops, higher);
    for (Index c = 0; c < n_classes; c += H) {
        const Lanes<H> exact = (top - entries(c)) * steps_per_unit + 0.5f;
        // If no class is possible, the steps are not a number, and all of them are at the bottom.
        const Lanes<H> steps = exact < bottom ? exact : Lanes<H>{} + bottom;
        write(out + c, __builtin_convertvector(__builtin_convertvector(steps, Totals) & is_class(c), HalfPoints));
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
        ShortSums<std::remove_cvref_t<decltype(*x)>> sums(network, steps, codes, hi - lo);
        for (Index n = lo; n < hi; ++n)
            if (states[n] == RowState::open) sums.add(n, states, classes);
        sums.settle(states, classes);
    });
}

}  // namespace tanager
