#include "effects.h"

#include <algorithm>
#include <cmath>

#include "lanes.h"
#include "quasi_newton.h"

namespace tanager {

namespace {

constexpr Index block_rows = 64;      // rows that are scored together
constexpr Index rows_of_sums = 4096;  // rows whose gradients are added in single precision
constexpr Index scored_at_once = 64;  // classes of a long line that are in registers together
constexpr float no_class = -1e30f;    // score of lanes beyond the last class

// Tables that are summed together: neighbouring rows often meet in one cell of one table, and then wait for each other.
// Long lines have several lanes to work on meanwhile, and tables of them fill the first cache.
constexpr Index tables_at_once(Index stride) { return stride <= 8 ? 4 : 1; }

// Where the lines of a table start for some rows.
void find_places(const EffectTable& table, const std::uint16_t* __restrict column,
                 const std::uint16_t* __restrict other, Index n_rows, Index stride, std::int32_t* __restrict places) {
    const auto step = static_cast<std::int32_t>(stride), first = static_cast<std::int32_t>(table.first_cell * stride);
    if (other == nullptr) {
        for (Index r = 0; r < n_rows; ++r) places[r] = first + column[r] * step;
        return;
    }
    const auto wide = static_cast<std::int32_t>(table.card_other * stride);
    for (Index r = 0; r < n_rows; ++r) places[r] = first + column[r] * wide + other[r] * step;
}

// Add up a piece of N times W classes of the lines at places, a row at a time, from the bias on.
template <int W, int N>
void sum_pieces(const float* theta, const float* bias, const std::int32_t* places, Index n_tables, Index n_rows,
                Index stride, float* sums) {
    for (Index r = 0; r < n_rows; ++r) {
        Lanes<W> piece[N];
        for (int k = 0; k < N; ++k) piece[k] = load<W>(bias + k * W);
        for (Index t = 0; t < n_tables; ++t) {
            const float* line = theta + places[t * block_rows + r];
            for (int k = 0; k < N; ++k) piece[k] += load<W>(line + k * W);
        }
        for (int k = 0; k < N; ++k) store<W>(sums + r * stride + k * W, piece[k]);
    }
}

// Fill sums with the bias and the lines at places [T, block_rows]. Of short lines four rows are read at a time, of long
// ones several lanes, which are next to each other: one addition need not wait for the other.
template <int W>
void sum_lines(const float* theta, const float* bias, const std::int32_t* places, Index n_tables, Index n_rows,
               Index stride, float* sums) {
    if constexpr (W == 1) {
        std::fill_n(sums, n_rows, *bias);
        Index t = 0;
        for (; t + 4 <= n_tables; t += 4) {
            const std::int32_t* at = places + t * block_rows;
            for (Index r = 0; r < n_rows; ++r)
                sums[r] = (((sums[r] + theta[at[r]]) + theta[at[r + block_rows]]) + theta[at[r + 2 * block_rows]]) +
                          theta[at[r + 3 * block_rows]];
        }
        for (; t < n_tables; ++t)
            for (Index r = 0; r < n_rows; ++r) sums[r] += theta[places[t * block_rows + r]];
    } else {
        constexpr int n_pieces = scored_at_once / W;
        Index c = 0;
        for (; c + scored_at_once <= stride; c += scored_at_once)
            sum_pieces<W, n_pieces>(theta + c, bias + c, places, n_tables, n_rows, stride, sums + c);
        for (; c < stride; c += W) {
            const auto start = load<W>(bias + c);
            Index r = 0;
            for (; r + 4 <= n_rows; r += 4) {
                auto sum0 = start, sum1 = start, sum2 = start, sum3 = start;
                for (Index t = 0; t < n_tables; ++t) {
                    const std::int32_t* at = places + t * block_rows + r;
                    sum0 += load<W>(theta + at[0] + c);
                    sum1 += load<W>(theta + at[1] + c);
                    sum2 += load<W>(theta + at[2] + c);
                    sum3 += load<W>(theta + at[3] + c);
                }
                float* line = sums + r * stride + c;
                store<W>(line, sum0);
                store<W>(line + stride, sum1);
                store<W>(line + 2 * stride, sum2);
                store<W>(line + 3 * stride, sum3);
            }
            for (; r < n_rows; ++r) {
                auto sum = start;
                for (Index t = 0; t < n_tables; ++t) sum += load<W>(theta + places[t * block_rows + r] + c);
                store<W>(sums + r * stride + c, sum);
            }
        }
    }
}

// Add rows of residuals to the lines at places of N tables, [N, block_rows].
template <int W, int N>
void add_rows(const float* __restrict residual, const std::int32_t* places, Index n_rows, Index stride, float* sums) {
    for (Index r = 0; r < n_rows; ++r) {
        if constexpr (W == 1) {
            for (int t = 0; t < N; ++t) sums[places[t * block_rows + r]] += residual[r];
        } else {
            for (Index c = 0; c < stride; c += W) {
                const auto value = load<W>(residual + r * stride + c);
                for (int t = 0; t < N; ++t) {
                    float* line = sums + places[t * block_rows + r] + c;
                    store<W>(line, load<W>(line) + value);
                }
            }
        }
    }
}

// Call a function with the number of lanes as a constant, one for two classes.
template <class Function>
decltype(auto) with_effect_lanes(Index lanes, Function&& function) {
    if (lanes == 1) return function(std::integral_constant<int, 1>{});
    return with_lanes(static_cast<int>(lanes), function);
}

// From the scores of rows, at most a block, to probabilities, with the weighted negative log-probability of their
// classes. Any class but a row's own stands for several, exp(log_copies) of them. One thing is done for all rows before
// the next, so that rows do not wait for each other.
template <int W>
void softmax_rows(Index n_rows, Index stride, const Index* y, const float* weight, float log_copies, float* lines,
                  double* losses) {
    float of_class[block_rows], sums[block_rows];
    for (Index r = 0; r < n_rows; ++r) {
        float* line = lines + r * stride;
        line[y[r]] -= log_copies;
        auto top = load<W>(line);
        for (Index c = W; c < stride; c += W) {
            const auto value = load<W>(line + c);
            top = value > top ? value : top;
        }
        const float highest = highest_of<W>(top);
        for (Index c = 0; c < stride; c += W) store<W>(line + c, load<W>(line + c) - highest);
        of_class[r] = line[y[r]];
    }
    for (Index k = 0; k < n_rows * stride; ++k) lines[k] = exp_or_zero(lines[k]);
    for (Index r = 0; r < n_rows; ++r) {
        Lanes<W> sum{};
        for (Index c = 0; c < stride; c += W) sum += load<W>(lines + r * stride + c);
        sums[r] = total<W>(sum);
    }
    for (Index r = 0; r < n_rows; ++r) {
        const float scale = 1.0f / sums[r];
        for (Index c = 0; c < stride; c += W) store<W>(lines + r * stride + c, load<W>(lines + r * stride + c) * scale);
    }
    for (Index r = 0; r < n_rows; ++r) losses[r] = static_cast<double>((log_of(sums[r]) - of_class[r]) * weight[r]);
}

// From the scores of the second class over the first to its probabilities, with the same.
void sigmoid_rows(Index n_rows, const float* __restrict is_second, const float* __restrict weight,
                  float* __restrict scores, double* __restrict losses) {
    for (Index r = 0; r < n_rows; ++r) {
        const float score = scores[r];
        const float away = (2.0f * is_second[r] - 1.0f) * score;  // how far the row is on the right side
        const float small = exp_of(-std::abs(score));             // at most 1
        const float sure = 1.0f / (1.0f + small);
        scores[r] = score >= 0.0f ? sure : small * sure;
        losses[r] = static_cast<double>((log_of(1.0f + small) - std::min(away, 0.0f)) * weight[r]);
    }
}

}  // namespace

Effects::Effects(const Codes& columns, View<const Index> y, View<const double> weight, Index n_classes,
                 View<const Index> cards, std::vector<std::vector<double>> edges, std::vector<EffectTable> tables,
                 double copies, int n_threads)
    : n_classes_(n_classes),
      width_(n_classes == 2 ? 1 : n_classes),
      lanes_(n_classes == 2 ? 1 : lanes_for(n_classes)),
      stride_(padded(width_, lanes_)),
      n_cells_(0),
      y_(y.begin(), y.end()),
      weight_(weight.begin(), weight.end()),
      edges_(std::move(edges)),
      tables_(std::move(tables)),
      log_copies_(static_cast<float>(std::log(copies))),
      residual_(static_cast<std::size_t>(y.size * stride_)),
      row_loss_(static_cast<std::size_t>(y.size)),
      crew_(n_threads) {
    for (Index k = 0; k < cards.size; ++k) {
        columns_.emplace_back(static_cast<std::size_t>(columns.columns));
        with_codes(columns, [&](const auto* codes) {
            const auto* first = codes + k * columns.columns;
            std::transform(first, first + columns.columns, columns_.back().begin(),
                           [](auto code) { return static_cast<std::uint16_t>(code); });
        });
    }
    for (auto& table : tables_) {
        table.first_cell = n_cells_;
        n_cells_ += table.n_cells();
    }
    if (is_binary())
        for (const Index each : y_) is_second_.push_back(static_cast<float>(each));
    theta_.resize(static_cast<std::size_t>((n_cells_ + 1) * stride_));
    for (Index c = width_; c < stride_; ++c) theta_[n_cells_ * stride_ + c] = no_class;
    Index largest = 0;
    for (const auto& table : tables_) largest = std::max(largest, table.n_cells());
    const auto n_members = static_cast<std::size_t>(crew_.size());
    sums_.assign(n_members, std::vector<float>(static_cast<std::size_t>(tables_at_once(stride_) * largest * stride_)));
    pulls_.assign(n_members, std::vector<double>(static_cast<std::size_t>(3 * largest * width_)));
    places_.assign(n_members, std::vector<std::int32_t>(tables_.size() * block_rows));
}

// Theta in single precision, a line of whole lanes for each cell.
void Effects::take(View<const double> theta) {
    for (Index cell = 0; cell <= n_cells_; ++cell)
        for (Index c = 0; c < width_; ++c) theta_[cell * stride_ + c] = static_cast<float>(theta[cell * width_ + c]);
}

// Fill residual_ with probabilities and row_loss_; then finish(lo, hi) is called for each block of rows.
template <class Finish>
void Effects::score_rows(Finish&& finish) {
    share(n_rows(), [&](Index lo, Index hi, int member) {
        std::int32_t* places = places_[member].data();
        for (Index start = lo; start < hi; start += block_rows) {
            const Index n = std::min(block_rows, hi - start);
            float* lines = residual_.data() + start * stride_;
            for (Index t = 0; t < n_tables(); ++t)
                find_places(tables_[t], column_of(tables_[t], start), other_column_of(tables_[t], start), n, stride_,
                            places + t * block_rows);
            with_effect_lanes(lanes_, [&](auto lanes) {
                const float* bias = theta_.data() + n_cells_ * stride_;
                sum_lines<lanes()>(theta_.data(), bias, places, n_tables(), n, stride_, lines);
                const float* weight = weight_.data() + start;
                double* losses = row_loss_.data() + start;
                if constexpr (lanes() == 1)
                    sigmoid_rows(n, is_second_.data() + start, weight, lines, losses);
                else
                    softmax_rows<lanes()>(n, stride_, y_.data() + start, weight, log_copies_, lines, losses);
            });
            finish(start, start + n);
        }
    });
}

// Sum the residuals of the rows of each cell of some tables that follow each other.
void Effects::sum_tables(Index first, Index n_tables, View<double> out, std::vector<float>& sums) {
    const Index first_cell = tables_[first].first_cell;
    const EffectTable& last = tables_[first + n_tables - 1];
    const Index n_cells = last.first_cell + last.n_cells() - first_cell;
    std::int32_t places[tables_at_once(1) * block_rows];
    double* of_tables = out.data + first_cell * width_;
    std::fill_n(of_tables, n_cells * width_, 0.0);
    for (Index chunk = 0; chunk < n_rows(); chunk += rows_of_sums) {
        const Index stop = std::min(chunk + rows_of_sums, n_rows());
        std::fill_n(sums.begin(), n_cells * stride_, 0.0f);
        for (Index start = chunk; start < stop; start += block_rows) {
            const Index n = std::min(block_rows, stop - start);
            for (Index t = 0; t < n_tables; ++t) {
                EffectTable table = tables_[first + t];
                table.first_cell -= first_cell;
                find_places(table, column_of(table, start), other_column_of(table, start), n, stride_,
                            places + t * block_rows);
            }
            with_effect_lanes(lanes_, [&](auto lanes) {
                const float* residual = residual_.data() + start * stride_;
                if (n_tables == tables_at_once(1))
                    add_rows<lanes(), tables_at_once(1)>(residual, places, n, stride_, sums.data());
                else
                    for (Index t = 0; t < n_tables; ++t)
                        add_rows<lanes(), 1>(residual, places + t * block_rows, n, stride_, sums.data());
            });
        }
        for (Index cell = 0; cell < n_cells; ++cell)
            for (Index c = 0; c < width_; ++c)
                of_tables[cell * width_ + c] += static_cast<double>(sums[cell * stride_ + c]);
    }
}

// Sum the residuals of the rows of each cell, and of all rows for the bias.
void Effects::sum_rows(View<double> out) {
    share(n_tables(), [&](Index lo, Index hi, int member) {
        for (Index t = lo; t < hi; t += tables_at_once(stride_))
            sum_tables(t, std::min(tables_at_once(stride_), hi - t), out, sums_[member]);
    });
    double* of_bias = out.data + n_cells_ * width_;
    std::fill_n(of_bias, width_, 0.0);
    if (n_tables() > 0) {  // every row is in one cell of the first table
        for (Index cell = 0; cell < tables_[0].n_cells(); ++cell)
            for (Index c = 0; c < width_; ++c) of_bias[c] += out[cell * width_ + c];
        return;
    }
    for (Index r = 0; r < n_rows(); ++r)
        for (Index c = 0; c < width_; ++c) of_bias[c] += static_cast<double>(residual_[r * stride_ + c]);
}

double Effects::loss(View<const double> theta, View<const Penalty> penalties, View<double> gradient) {
    take(theta);
    score_rows([&](Index lo, Index hi) {
        for (Index r = lo; r < hi; ++r) {
            float* line = residual_.data() + r * stride_;
            if (is_binary()) {
                *line = (*line - is_second_[r]) * weight_[r];
                continue;
            }
            for (Index c = 0; c < stride_; ++c) line[c] *= weight_[r];
            line[y_[r]] -= weight_[r];
        }
    });
    sum_rows(gradient);
    std::vector<double> of_table(tables_.size());
    share(n_tables(), [&](Index lo, Index hi, int member) {
        for (Index t = lo; t < hi; ++t) {
            const Index first = tables_[t].first_cell * width_;
            of_table[t] = penalise(t, penalties[t], theta.data + first, pulls_[member].data(), gradient.data + first);
        }
    });
    const double of_rows = sum(n_rows(), [&](Index r) { return row_loss_[r]; });
    return of_rows + sum(n_tables(), [&](Index t) { return of_table[t]; });
}

void Effects::probabilities(View<const double> theta, Matrix<double> out) {
    take(theta);
    score_rows([&](Index lo, Index hi) {
        for (Index r = lo; r < hi; ++r) {
            const float* line = residual_.data() + r * stride_;
            for (Index c = 0; c < width_; ++c) out(r, is_binary() ? 1 : c) = line[c];
            if (is_binary()) out(r, 0) = 1.0 - out(r, 1);
        }
    });
}

void Effects::curvature(View<const double> theta, View<double> out) {
    take(theta);
    score_rows([&](Index lo, Index hi) {
        for (Index r = lo; r < hi; ++r) {
            float* line = residual_.data() + r * stride_;
            for (Index c = 0; c < width_; ++c) line[c] *= (1.0f - line[c]) * weight_[r];
        }
    });
    sum_rows(out);
}

}  // namespace tanager
