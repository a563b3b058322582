#include "prediction.h"

#include <cmath>

#include "lanes.h"

namespace tanager {

namespace {

constexpr Index n_together = 8;                // slots whose lines are added in single precision
constexpr Index n_chunk = 32;                  // slots whose lines are added before the sums are put down
constexpr Index most_totals = Index{1} << 15;  // sums of a block of rows, so that they stay in the cache

// Sums of W classes in double precision, in parts of at most four, as many as one instruction converts.
template <int W>
class WideSums {
 public:
    explicit WideSums(const double* place) {
        for (int p = 0; p < W / H; ++p) std::memcpy(&parts_[p], place + p * H, sizeof(Part));
    }

    void store(double* place) const {
        for (int p = 0; p < W / H; ++p) std::memcpy(place + p * H, &parts_[p], sizeof(Part));
    }

    void operator+=(Lanes<W> lanes) {
        for (int p = 0; p < W / H; ++p) {
            if constexpr (H == 2)
                parts_[p] += Part{lanes[0], lanes[1]};
            else
                parts_[p] += Part{lanes[4 * p], lanes[4 * p + 1], lanes[4 * p + 2], lanes[4 * p + 3]};
        }
    }

 private:
    static constexpr int H = W < 4 ? W : 4;
    typedef double Part __attribute__((vector_size(H * sizeof(double))));
    Part parts_[W / H];
};

// Totals of a row for the W classes from first on: those before, and the lines at every step-th of the places.
template <int W>
void add_lines(const float* first, const Place* places, Index step, Index n_slots, const double* before,
               double* totals) {
    const auto line = [=](Index k) { return load<W>(first + places[k * step]); };
    WideSums<W> sums(before);
    Index k = 0;
    for (; k + n_together <= n_slots; k += n_together)
        sums += ((line(k) + line(k + 1)) + (line(k + 2) + line(k + 3))) +
                ((line(k + 4) + line(k + 5)) + (line(k + 6) + line(k + 7)));
    for (; k < n_slots; ++k) sums += line(k);
    sums.store(totals);
}

// Sums of rows, a block at a time.
template <class Code>
class ExactSums {
 public:
    ExactSums(const Network& network, const Codes& codes, Index n_rows)
        : network_(network),
          width_(network.prior.size),
          block_(codes, std::clamp<Index>(most_totals / width_, 1, n_rows)),
          totals_(std::make_unique_for_overwrite<double[]>(block_.room() * width_)) {}

    // Take up a row; when there are enough of them, finish them.
    template <class Give>
    void add(Index row, Give&& give) {
        block_.add(row);
        if (block_.is_full()) finish(give);
    }

    // Call give(row, sums) for every row that was taken up.
    template <class Give>
    void finish(Give&& give) {
        sum();
        for (Index n = 0; n < block_.size(); ++n) give(block_.row(n), totals_.get() + n * width_);
        block_.clear();
    }

 private:
    void sum() {
        const Index n_rows = block_.size(), n_slots = network_.slots.size;
        block_.turn();
        with_lanes(lanes_for(network_.n_classes), [&](auto lanes) {
            for (Index first = 0; first < n_slots; first += n_chunk) {
                const auto slots = network_.slots.slice(first, std::min(first + n_chunk, n_slots));
                block_.find_places(slots, network_.n_classes, places_);
                for (Index n = 0; n < n_rows; ++n)
                    for (Index c = 0; c < width_; c += lanes()) {
                        double* totals = totals_.get() + n * width_ + c;
                        add_lines<lanes()>(network_.theta.data + c, places_ + n, block_.room(), slots.size,
                                           first == 0 ? network_.prior.data + c : totals, totals);
                    }
            }
        });
    }

    const Network& network_;
    Index width_;
    RowBlock<Code> block_;
    Place places_[n_chunk * RowBlock<Code>::most_rows];
    std::unique_ptr<double[]> totals_;  // [B, P]
};

// Call give(row, sums) for every open row.
template <class Give>
void sum_open_rows(Index lo, Index hi, const Network& network, const Codes& codes, View<RowState> states, Give&& give) {
    const auto n_open = std::count(states.data + lo, states.data + hi, RowState::open);
    if (n_open == 0) return;
    with_codes(codes, [&](const auto* x) {
        ExactSums<std::remove_cvref_t<decltype(*x)>> sums(network, codes, n_open);
        for (Index n = lo; n < hi; ++n)
            if (states[n] == RowState::open) sums.add(n, give);
        sums.finish(give);
    });
}

}  // namespace

void network_log_joint(Index lo, Index hi, const Network& network, const Codes& codes, View<RowState> states,
                       Matrix<double> log_joint) {
    for (Index n = lo; n < hi; ++n)
        if (states[n] != RowState::open) std::fill_n(log_joint.row(n), network.n_classes, std::nan(""));
    sum_open_rows(lo, hi, network, codes, states,
                  [&](Index n, const double* sums) { std::copy_n(sums, network.n_classes, log_joint.row(n)); });
}

void best_classes(Index lo, Index hi, const Network& network, const Codes& codes, View<RowState> states,
                  View<Index> classes) {
    sum_open_rows(lo, hi, network, codes, states, [&](Index n, const double* sums) {
        classes[n] = std::max_element(sums, sums + network.n_classes) - sums;
        states[n] = RowState::settled;
    });
}

}  // namespace tanager
