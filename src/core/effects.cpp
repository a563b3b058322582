#include "effects.h"

#include <algorithm>
#include <cmath>

#include "lanes.h"

namespace tanager {

namespace {

constexpr Index block_rows = 64;          // rows that are scored together
constexpr Index rows_of_sums = 4096;      // rows whose gradients are added in single precision
constexpr double least_curvature = 1e-3;  // of cells that no row has

// Where the lines of a table start for some rows.
void find_places(const EffectTable& table, const std::uint16_t* column, const std::uint16_t* other, Index n_rows,
                 Index stride, std::int32_t* places) {
    const auto step = static_cast<std::int32_t>(stride), first = static_cast<std::int32_t>(table.first_cell * stride);
    if (other == nullptr) {
        for (Index r = 0; r < n_rows; ++r) places[r] = first + column[r] * step;
        return;
    }
    const auto wide = static_cast<std::int32_t>(table.card_other * stride);
    for (Index r = 0; r < n_rows; ++r) places[r] = first + column[r] * wide + other[r] * step;
}

// Add the lines at places to n_rows rows of sums.
template <int W>
void add_lines(const float* theta, const std::int32_t* places, Index n_rows, Index stride, float* sums) {
    if constexpr (W == 1) {
        for (Index r = 0; r < n_rows; ++r) sums[r] += theta[places[r]];
    } else {
        for (Index r = 0; r < n_rows; ++r)
            for (Index c = 0; c < stride; c += W)
                store<W>(sums + r * stride + c, load<W>(sums + r * stride + c) + load<W>(theta + places[r] + c));
    }
}

// Add rows of residuals to the lines at places.
template <int W>
void add_rows(const float* residual, const std::int32_t* places, Index n_rows, Index stride, float* sums) {
    if constexpr (W == 1) {
        for (Index r = 0; r < n_rows; ++r) sums[places[r]] += residual[r];
    } else {
        for (Index r = 0; r < n_rows; ++r)
            for (Index c = 0; c < stride; c += W) {
                float* line = sums + places[r] + c;
                store<W>(line, load<W>(line) + load<W>(residual + r * stride + c));
            }
    }
}

// Call a function with the number of lanes as a constant, one for two classes.
template <class Function>
decltype(auto) with_effect_lanes(Index lanes, Function&& function) {
    if (lanes == 1) return function(std::integral_constant<int, 1>{});
    return with_lanes(static_cast<int>(lanes), function);
}

// From the scores of a row to probabilities, with the log-probability of one class.
float softmax_row(float* scores, Index n_classes, Index y) {
    float highest = scores[0];
    for (Index c = 1; c < n_classes; ++c) highest = std::max(highest, scores[c]);
    const float of_class = scores[y] - highest;
    float sum = 0.0f;
    for (Index c = 0; c < n_classes; ++c) scores[c] = exp_of(scores[c] - highest);
    for (Index c = 0; c < n_classes; ++c) sum += scores[c];
    const float scale = 1.0f / sum;
    for (Index c = 0; c < n_classes; ++c) scores[c] *= scale;
    return of_class - log_of(sum);
}

// From the score of class 1 over class 0 to its probability, with the log-probability of one class.
float sigmoid_row(float* score, Index y) {
    const float away = y == 1 ? *score : -*score;  // how far the row is on the right side
    const float small = exp_of(-std::abs(away));   // at most 1
    const float sure = 1.0f / (1.0f + small);
    *score = *score >= 0.0f ? sure : small * sure;
    return std::min(away, 0.0f) - log_of(1.0f + small);
}

}  // namespace

Effects::Effects(const Codes& columns, View<const Index> y, View<const double> weight, Index n_classes,
                 View<const Index> cards, std::vector<std::vector<double>> edges, std::vector<EffectTable> tables,
                 int n_threads)
    : n_classes_(n_classes),
      width_(n_classes == 2 ? 1 : n_classes),
      lanes_(n_classes == 2 ? 1 : lanes_for(n_classes)),
      stride_(padded(width_, lanes_)),
      n_cells_(0),
      y_(y.begin(), y.end()),
      weight_(weight.begin(), weight.end()),
      edges_(std::move(edges)),
      tables_(std::move(tables)),
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
    theta_.resize(static_cast<std::size_t>((n_cells_ + 1) * stride_));
    Index largest = 0;
    for (const auto& table : tables_) largest = std::max(largest, table.n_cells());
    scratch_.assign(static_cast<std::size_t>(crew_.size()),
                    std::vector<float>(static_cast<std::size_t>(largest * stride_)));
}

template <class Work>
void Effects::share(Index n_items, Work&& work) {
    const Index n_members = crew_.size();
    crew_.run([&](int member) { work(n_items * member / n_members, n_items * (member + 1) / n_members, member); });
}

// Theta in single precision, a line of whole lanes for each cell.
void Effects::take(View<const double> theta) {
    for (Index cell = 0; cell <= n_cells_; ++cell)
        for (Index c = 0; c < width_; ++c) theta_[cell * stride_ + c] = static_cast<float>(theta[cell * width_ + c]);
}

// Fill residual_ with probabilities minus the class, times weights, and row_loss_.
void Effects::score_rows(Index lo, Index hi) {
    const float* bias = theta_.data() + n_cells_ * stride_;
    std::int32_t places[block_rows];
    for (Index start = lo; start < hi; start += block_rows) {
        const Index n = std::min(block_rows, hi - start);
        float* sums = residual_.data() + start * stride_;
        for (Index r = 0; r < n; ++r) std::copy_n(bias, stride_, sums + r * stride_);
        with_effect_lanes(lanes_, [&](auto lanes) {
            for (const auto& table : tables_) {
                const auto* other = table.other < 0 ? nullptr : columns_[table.other].data() + start;
                find_places(table, columns_[table.column].data() + start, other, n, stride_, places);
                add_lines<lanes()>(theta_.data(), places, n, stride_, sums);
            }
        });
        for (Index r = 0; r < n; ++r) {
            const Index row = start + r, y = y_[row];
            float* line = sums + r * stride_;
            const float log_probability = is_binary() ? sigmoid_row(line, y) : softmax_row(line, n_classes_, y);
            row_loss_[row] = -static_cast<double>(log_probability) * weight_[row];
        }
    }
}

// Sum the residuals of the rows of each cell of a table.
void Effects::sum_table(Index t, View<double> out, std::vector<float>& sums) {
    EffectTable table = tables_[t];
    const Index first = table.first_cell * width_;
    table.first_cell = 0;
    const Index n_cells = table.n_cells();
    std::int32_t places[block_rows];
    std::fill_n(out.data + first, n_cells * width_, 0.0);
    for (Index chunk = 0; chunk < n_rows(); chunk += rows_of_sums) {
        const Index stop = std::min(chunk + rows_of_sums, n_rows());
        std::fill_n(sums.begin(), n_cells * stride_, 0.0f);
        for (Index start = chunk; start < stop; start += block_rows) {
            const Index n = std::min(block_rows, stop - start);
            const auto* other = table.other < 0 ? nullptr : columns_[table.other].data() + start;
            find_places(table, columns_[table.column].data() + start, other, n, stride_, places);
            with_effect_lanes(lanes_, [&](auto lanes) {
                add_rows<lanes()>(residual_.data() + start * stride_, places, n, stride_, sums.data());
            });
        }
        for (Index cell = 0; cell < n_cells; ++cell)
            for (Index c = 0; c < width_; ++c)
                out[first + cell * width_ + c] += static_cast<double>(sums[cell * stride_ + c]);
    }
}

double Effects::loss(View<const double> theta, View<const Penalty> penalties, View<double> gradient) {
    take(theta);
    share(n_rows(), [&](Index lo, Index hi, int) {
        score_rows(lo, hi);
        for (Index r = lo; r < hi; ++r) {
            float* line = residual_.data() + r * stride_;
            line[is_binary() ? 0 : y_[r]] -= is_binary() ? static_cast<float>(y_[r]) : 1.0f;
            for (Index c = 0; c < width_; ++c) line[c] *= weight_[r];
        }
    });
    std::vector<double> of_table(tables_.size());
    share(n_tables(), [&](Index lo, Index hi, int member) {
        for (Index t = lo; t < hi; ++t) {
            sum_table(t, gradient, scratch_[member]);
            const Index first = tables_[t].first_cell * width_;
            of_table[t] = penalise(t, penalties[t], theta.data + first, gradient.data + first);
        }
    });
    double* of_bias = gradient.data + n_cells_ * width_;
    std::fill_n(of_bias, width_, 0.0);
    for (Index r = 0; r < n_rows(); ++r)
        for (Index c = 0; c < width_; ++c) of_bias[c] += residual_[r * stride_ + c];
    double total = 0.0;
    for (const double each : row_loss_) total += each;
    for (const double each : of_table) total += each;
    return total;
}

void Effects::probabilities(View<const double> theta, Matrix<double> out) {
    take(theta);
    share(n_rows(), [&](Index lo, Index hi, int) {
        score_rows(lo, hi);
        for (Index r = lo; r < hi; ++r) {
            const float* line = residual_.data() + r * stride_;
            for (Index c = 0; c < width_; ++c) out(r, is_binary() ? 1 : c) = line[c];
            if (is_binary()) out(r, 0) = 1.0 - out(r, 1);
        }
    });
}

void Effects::curvature(View<const double> theta, View<double> out) {
    take(theta);
    share(n_rows(), [&](Index lo, Index hi, int) {
        score_rows(lo, hi);
        for (Index r = lo; r < hi; ++r) {
            float* line = residual_.data() + r * stride_;
            for (Index c = 0; c < width_; ++c) line[c] *= (1.0f - line[c]) * weight_[r];
        }
    });
    share(n_tables(), [&](Index lo, Index hi, int member) {
        for (Index t = lo; t < hi; ++t) sum_table(t, out, scratch_[member]);
    });
    double* of_bias = out.data + n_cells_ * width_;
    std::fill_n(of_bias, width_, 0.0);
    for (Index r = 0; r < n_rows(); ++r)
        for (Index c = 0; c < width_; ++c) of_bias[c] += residual_[r * stride_ + c];
}

// Call visit(place, next, strength) for each pair of neighbouring cells of a table that a penalty holds together.
template <class Visit>
void Effects::for_each_edge(const EffectTable& table, const Penalty& penalty, Visit&& visit) const {
    const auto& along = edges_[table.column];
    for (Index a = 0; a + 1 < table.card; ++a)
        if (const double strength = penalty.along * along[a]; strength > 0.0)
            for (Index b = 0; b < table.card_other; ++b)
                visit(a * table.card_other + b, (a + 1) * table.card_other + b, strength);
    if (table.other < 0) return;
    const auto& across = edges_[table.other];
    for (Index b = 0; b + 1 < table.card_other; ++b)
        if (const double strength = penalty.across * across[b]; strength > 0.0)
            for (Index a = 0; a < table.card; ++a)
                visit(a * table.card_other + b, a * table.card_other + b + 1, strength);
}

// Call visit(place, step, strength) for each three cells in a row along the first index, a step apart.
template <class Visit>
void Effects::for_each_bend(const EffectTable& table, const Penalty& penalty, Visit&& visit) const {
    const auto& edges = edges_[table.column];
    for (Index a = 0; a + 2 < table.card; ++a)
        if (const double strength = penalty.bend * edges[a] * edges[a + 1]; strength > 0.0)
            for (Index b = 0; b < table.card_other; ++b) visit(a * table.card_other + b, table.card_other, strength);
}

// Half the penalty's quadratic form; its gradient is added.
double Effects::penalise(Index t, const Penalty& penalty, const double* theta, double* gradient) const {
    const EffectTable& table = tables_[t];
    double total = 0.0;
    for (Index k = 0; k < table.n_cells() * width_; ++k) {
        total += penalty.ridge * theta[k] * theta[k];
        gradient[k] += penalty.ridge * theta[k];
    }
    for_each_edge(table, penalty, [&](Index place, Index next, double strength) {
        for (Index c = 0; c < width_; ++c) {
            const double difference = theta[next * width_ + c] - theta[place * width_ + c];
            total += strength * difference * difference;
            gradient[next * width_ + c] += strength * difference;
            gradient[place * width_ + c] -= strength * difference;
        }
    });
    for_each_bend(table, penalty, [&](Index place, Index step, double strength) {
        for (Index c = 0; c < width_; ++c) {
            const Index k = place * width_ + c, next = k + step * width_, last = next + step * width_;
            const double bend = theta[last] - 2.0 * theta[next] + theta[k];
            total += strength * bend * bend;
            gradient[k] += strength * bend;
            gradient[next] -= 2.0 * strength * bend;
            gradient[last] += strength * bend;
        }
    });
    return total / 2.0;
}

void Effects::add_penalty_curvature(View<const Penalty> penalties, View<double> out) const {
    for (Index t = 0; t < n_tables(); ++t) {
        double* of_table = out.data + tables_[t].first_cell * width_;
        for (Index k = 0; k < tables_[t].n_cells() * width_; ++k) of_table[k] += penalties[t].ridge;
        for_each_edge(tables_[t], penalties[t], [&](Index place, Index next, double strength) {
            for (Index c = 0; c < width_; ++c) {
                of_table[next * width_ + c] += strength;
                of_table[place * width_ + c] += strength;
            }
        });
        for_each_bend(tables_[t], penalties[t], [&](Index place, Index step, double strength) {
            for (Index c = 0; c < width_; ++c) {
                of_table[place * width_ + c] += strength;
                of_table[(place + step) * width_ + c] += 4.0 * strength;
                of_table[(place + 2 * step) * width_ + c] += strength;
            }
        });
    }
}

std::vector<BandedMatrix> Effects::factors(View<const double> curvature, View<const Penalty> penalties) {
    std::vector<BandedMatrix> found;
    for (Index t = 0; t < n_tables(); ++t) {
        const EffectTable& table = tables_[t];
        const Penalty& penalty = penalties[t];
        const bool is_pair = table.other >= 0;
        // How far cells are apart that are solved for together. Lines of pairs are solved for one by one: all at once
        // takes many times as long and does not save a step.
        const Index band = is_pair ? Index{penalty.across > 0.0} : penalty.bend > 0.0 ? 2 : Index{penalty.along > 0.0};
        found.emplace_back(table.n_cells(), band, width_, is_pair ? 1 : width_);
    }
    share(n_tables(), [&](Index lo, Index hi, int) {
        for (Index t = lo; t < hi; ++t) {
            const EffectTable& table = tables_[t];
            BandedMatrix& matrix = found[t];
            const Index n_matrices = matrix.n_matrices();
            const double* of_table = curvature.data + table.first_cell * width_;
            for (Index cell = 0; cell < table.n_cells(); ++cell) {
                for (Index c = 0; c < width_; ++c)
                    matrix.at(cell, 0, n_matrices == 1 ? 0 : c) +=
                        of_table[cell * width_ + c] / static_cast<double>(width_ / n_matrices);
                for (Index m = 0; m < n_matrices; ++m) matrix.at(cell, 0, m) += penalties[t].ridge + least_curvature;
            }
            const auto add = [&](Index i, Index k, double value) {
                if (k > matrix.band()) return;
                for (Index m = 0; m < n_matrices; ++m) matrix.at(i, k, m) += value;
            };
            for_each_edge(table, penalties[t], [&](Index place, Index next, double strength) {
                add(place, 0, strength);
                add(next, 0, strength);
                add(next, next - place, -strength);
            });
            for_each_bend(table, penalties[t], [&](Index place, Index step, double strength) {
                const Index next = place + step, last = next + step;
                add(place, 0, strength);
                add(next, 0, 4.0 * strength);
                add(last, 0, strength);
                add(next, step, -2.0 * strength);
                add(last, step, -2.0 * strength);
                add(last, 2 * step, strength);
            });
            matrix.factorise();
        }
    });
    return found;
}

void Effects::solve(const std::vector<BandedMatrix>& factors, View<const double> curvature, double* x) {
    share(n_tables(), [&](Index lo, Index hi, int) {
        for (Index t = lo; t < hi; ++t) factors[t].solve(x + tables_[t].first_cell * width_);
    });
    for (Index k = n_cells_ * width_; k < (n_cells_ + 1) * width_; ++k) x[k] /= curvature[k] + least_curvature;
}

void pair_gains(Index lo, Index hi, const Codes& columns, View<const Index> cards, Matrix<const float> residual,
                Matrix<const float> curvature, double ridge, Matrix<double> gains) {
    const Index n_rows = residual.rows, width = residual.columns;
    const Index largest = *std::max_element(cards.begin(), cards.end());
    std::vector<float> sums(static_cast<std::size_t>(largest * largest * width * 2));
    with_codes(columns, [&](const auto* x) {
        for (Index i = lo; i < hi; ++i)
            for (Index j = 0; j < i; ++j) {
                const auto *x_i = x + i * n_rows, *x_j = x + j * n_rows;
                const Index n_entries = cards[i] * cards[j] * width;
                std::fill_n(sums.begin(), 2 * n_entries, 0.0f);
                for (Index r = 0; r < n_rows; ++r) {
                    const Index cell = static_cast<Index>(x_i[r]) * cards[j] + static_cast<Index>(x_j[r]);
                    float* line = sums.data() + 2 * cell * width;
                    for (Index c = 0; c < width; ++c) {
                        line[2 * c] += residual(r, c);
                        line[2 * c + 1] += curvature(r, c);
                    }
                }
                double gain = 0.0;
                for (Index k = 0; k < n_entries; ++k) {
                    const double g = sums[2 * k], h = sums[2 * k + 1];
                    gain += (g * g - h) / (h + ridge);
                }
                gains(i, j) = gain / 2.0;
                gains(j, i) = gain / 2.0;
            }
    });
}

}  // namespace tanager
