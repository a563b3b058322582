// The penalties of effects: their gradient, and the second derivative of each table by itself.
#include <algorithm>
#include <iterator>

#include "effects.h"
#include "lanes.h"
#include "quasi_newton.h"

namespace tanager {

namespace {

constexpr double least_curvature = 1e-3;  // of cells that no row has
constexpr Index most_lanes = 8;

// Add the gradient of half the sum over k of strength(k) (theta[k + step] - theta[k])^2.
template <class Strength>
void pull_together(Index size, const double* __restrict theta, Index step, Strength&& strength, double* pull) {
    for (Index k = 0; k < size; ++k) pull[k] -= strength(k) * (theta[k + step] - theta[k]);
    for (Index k = 0; k < size; ++k) pull[k + step] += strength(k) * (theta[k + step] - theta[k]);
}

// The same for half the sum over k of strength(k) (theta[k + 2 step] - 2 theta[k + step] + theta[k])^2.
template <class Strength>
void straighten(Index size, const double* __restrict theta, Index step, Strength&& strength, double* pull) {
    const auto bend = [&](Index k) { return strength(k) * (theta[k + 2 * step] - 2.0 * theta[k + step] + theta[k]); };
    for (Index k = 0; k < size; ++k) pull[k] += bend(k);
    for (Index k = 0; k < size; ++k) pull[k + step] -= 2.0 * bend(k);
    for (Index k = 0; k < size; ++k) pull[k + 2 * step] += bend(k);
}

}  // namespace

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

// Call visit(place, step, strength) for each three cells in a row along either index, a step apart.
template <class Visit>
void Effects::for_each_bend(const EffectTable& table, const Penalty& penalty, Visit&& visit) const {
    const auto& along = edges_[table.column];
    for (Index a = 0; a + 2 < table.card; ++a)
        if (const double strength = penalty.bend_along * along[a] * along[a + 1]; strength > 0.0)
            for (Index b = 0; b < table.card_other; ++b) visit(a * table.card_other + b, table.card_other, strength);
    if (table.other < 0) return;
    const auto& across = edges_[table.other];
    for (Index b = 0; b + 2 < table.card_other; ++b)
        if (const double strength = penalty.bend_across * across[b] * across[b + 1]; strength > 0.0)
            for (Index a = 0; a < table.card; ++a) visit(a * table.card_other + b, 1, strength);
}

// Call add(i, k, value) for each entry of a penalty's form in row i and column i - k; some come several times.
template <class Add>
void Effects::add_penalty(const EffectTable& table, const Penalty& penalty, Add&& add) const {
    for (Index cell = 0; cell < table.n_cells(); ++cell) add(cell, 0, penalty.ridge);
    for_each_edge(table, penalty, [&](Index one, Index next, double strength) {
        add(one, 0, strength);
        add(next, 0, strength);
        add(next, next - one, -strength);
    });
    for_each_bend(table, penalty, [&](Index one, Index step, double strength) {
        const Index next = one + step, after = next + step;
        add(one, 0, strength);
        add(next, 0, 4.0 * strength);
        add(after, 0, strength);
        add(next, step, -2.0 * strength);
        add(after, step, -2.0 * strength);
        add(after, 2 * step, strength);
    });
}

// Half the penalty's quadratic form; its gradient, by which theta gives the form, is added.
//
// Lines of cells are differenced as a whole, which vectorises also where a cell has one entry.
double Effects::penalise(Index t, const Penalty& penalty, const double* theta, double* scratch,
                         double* gradient) const {
    const EffectTable& table = tables_[t];
    const Index size = table.n_cells() * width_;
    double *pull = scratch, *steps = scratch + size, *bends = scratch + 2 * size;
    for (Index k = 0; k < size; ++k) pull[k] = penalty.ridge * theta[k];
    // Lines of cells along an index that varies fastest: strengths differ within a line, and are the same for all.
    const auto hold_lines = [&](Index n_lines, Index n_cells, Index column, double of_steps, double of_bends) {
        const auto& edges = edges_[column];
        const Index n_line = n_cells * width_, n_steps = n_line - width_,
                    n_bends = std::max(n_steps - width_, Index{0});
        for (Index cell = 0; cell + 1 < n_cells; ++cell)
            std::fill_n(steps + cell * width_, width_, of_steps * edges[cell]);
        for (Index cell = 0; cell + 2 < n_cells; ++cell)
            std::fill_n(bends + cell * width_, width_, of_bends * edges[cell] * edges[cell + 1]);
        for (Index k = 0; k < n_lines * n_line; k += n_line) {
            if (of_steps > 0.0) pull_together(n_steps, theta + k, width_, [&](Index p) { return steps[p]; }, pull + k);
            if (of_bends > 0.0) straighten(n_bends, theta + k, width_, [&](Index p) { return bends[p]; }, pull + k);
        }
    };
    if (table.other < 0) {
        hold_lines(1, table.card, table.column, penalty.along, penalty.bend_along);
    } else {
        const auto& along = edges_[table.column];
        const Index n_line = table.card_other * width_;
        for (Index a = 0; a + 1 < table.card; ++a)
            if (const double held = penalty.along * along[a]; held > 0.0)
                pull_together(n_line, theta + a * n_line, n_line, [&](Index) { return held; }, pull + a * n_line);
        for (Index a = 0; a + 2 < table.card; ++a)
            if (const double held = penalty.bend_along * along[a] * along[a + 1]; held > 0.0)
                straighten(n_line, theta + a * n_line, n_line, [&](Index) { return held; }, pull + a * n_line);
        hold_lines(table.card, table.card_other, table.other, penalty.across, penalty.bend_across);
    }
    for (Index k = 0; k < size; ++k) gradient[k] += pull[k];
    return sum(size, [&](Index k) { return theta[k] * pull[k]; }) / 2.0;
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

// tr((H + S)^-1 H) for a table of one column, whose cells have the curvature H [n_cells, width] in the mean.
double Effects::degrees_of_freedom(Index t, const Penalty& penalty, const double* curvature) const {
    const EffectTable& table = tables_[t];
    const Index n_cells = table.card;
    BandedMatrix matrix(n_cells, band_of(t, penalty), most_lanes, 1);
    std::vector<double> mean(static_cast<std::size_t>(n_cells));
    for (Index k = 0; k < n_cells * width_; ++k) mean[k / width_] += curvature[k] / static_cast<double>(width_);
    for (Index cell = 0; cell < n_cells; ++cell) matrix.at(cell, 0, 0) = mean[cell];
    add_penalty(table, penalty, [&](Index i, Index k, double value) { matrix.at(i, k, 0) += value; });
    matrix.factorise();
    // The diagonal of the inverse, several columns of it at a time.
    std::vector<double> columns(static_cast<std::size_t>(n_cells * most_lanes));
    double degrees = 0.0;
    for (Index first = 0; first < n_cells; first += most_lanes) {
        const Index n = std::min(most_lanes, n_cells - first);
        std::fill(columns.begin(), columns.end(), 0.0);
        for (Index k = 0; k < n; ++k) columns[(first + k) * most_lanes + k] = 1.0;
        matrix.solve<most_lanes>(columns.data());
        for (Index k = 0; k < n; ++k) degrees += columns[(first + k) * most_lanes + k] * mean[first + k];
    }
    return degrees;
}

void Effects::freedom(View<const double> theta, View<const Penalty> penalties, View<double> degrees,
                      View<double> pulls) {
    std::vector<double> diagonal(static_cast<std::size_t>(n_entries())), gradient(diagonal.size());
    curvature(theta, {diagonal.data(), n_entries()});
    share(n_tables(), [&](Index lo, Index hi, int member) {
        for (Index t = lo; t < hi; ++t) {
            const Index first = tables_[t].first_cell * width_;
            degrees[t] = pulls[t] = 0.0;
            if (tables_[t].other >= 0) continue;
            degrees[t] = degrees_of_freedom(t, penalties[t], diagonal.data() + first);
            double* scratch = pulls_[member].data();
            pulls[t] = 2.0 * penalise(t, penalties[t], theta.data + first, scratch, gradient.data() + first);
        }
    });
}

// How far cells of a table are apart that are solved for together. The lines of a pair are solved for one by one where
// all at once would take longer than reading the rows does; that takes a fifth more steps or so.
Index Effects::band_of(Index t, const Penalty& penalty) const {
    const EffectTable& table = tables_[t];
    const Index along = penalty.bend_along > 0.0 ? 2 : Index{penalty.along > 0.0};
    if (table.other < 0) return along;
    const Index across = penalty.bend_across > 0.0 ? 2 : Index{penalty.across > 0.0};
    const bool is_slow = along * table.n_cells() * table.card_other > 2 * n_rows();
    return std::max(is_slow ? 0 : along * table.card_other, across);
}

std::vector<FactorBlock> Effects::factors(View<const double> curvature, View<const Penalty> penalties) {
    std::vector<FactorBlock> blocks;
    // With several classes a table fills lanes by itself; with two, tables of one shape share them.
    const Index most_tables = width_ == 1 ? most_lanes : 1;
    for (Index t = 0; t < n_tables(); ++t) {
        const EffectTable& table = tables_[t];
        const Index band = band_of(t, penalties[t]);
        const auto is_alike = [&](const FactorBlock& block) {
            const Index first = block.tables[0];
            return std::ssize(block.tables) < most_tables && tables_[first].card == table.card &&
                   tables_[first].card_other == table.card_other && band_of(first, penalties[first]) == band;
        };
        const auto found = std::find_if(blocks.begin(), blocks.end(), is_alike);
        if (found != blocks.end()) {
            found->tables.push_back(t);
            continue;
        }
        const Index width = width_ == 1 ? most_lanes : stride_;
        const bool is_for_all = table.other >= 0 && width_ > 1;
        blocks.push_back({{t}, BandedMatrix(table.n_cells(), band, width, is_for_all ? 1 : width)});
    }
    std::size_t largest = 0;
    for (const auto& block : blocks)
        largest = std::max(largest, static_cast<std::size_t>(block.matrix.size() * block.matrix.width()));
    equations_.assign(static_cast<std::size_t>(crew_.size()), std::vector<double>(largest));
    share(std::ssize(blocks), [&](Index lo, Index hi, int) {
        for (Index b = lo; b < hi; ++b) {
            fill_matrix(blocks[b], curvature, penalties);
            blocks[b].matrix.factorise();
        }
    });
    return blocks;
}

void Effects::fill_matrix(FactorBlock& block, View<const double> curvature, View<const Penalty> penalties) const {
    BandedMatrix& matrix = block.matrix;
    const Index n_matrices = matrix.n_matrices();
    for (Index cell = 0; cell < matrix.size(); ++cell)
        for (Index m = 0; m < n_matrices; ++m) matrix.at(cell, 0, m) = least_curvature;
    for (Index place = 0; place < std::ssize(block.tables); ++place) {
        const Index t = block.tables[place];
        const EffectTable& table = tables_[t];
        const double* of_table = curvature.data + table.first_cell * width_;
        // The matrices of this table: one for all classes, one for each of them, or the one in its lane.
        const Index first = width_ == 1 ? place : 0, last = width_ == 1 ? place + 1 : n_matrices;
        const double share = n_matrices == 1 ? 1.0 / static_cast<double>(width_) : 1.0;
        const auto add = [&](Index i, Index k, double value) {
            if (k > matrix.band()) return;
            for (Index m = first; m < last; ++m) matrix.at(i, k, m) += value;
        };
        for (Index cell = 0; cell < table.n_cells(); ++cell) {
            for (Index c = 0; c < width_; ++c)
                matrix.at(cell, 0, n_matrices == 1 ? 0 : first + c) += of_table[cell * width_ + c] * share;
        }
        add_penalty(table, penalties[t], add);
    }
}

void Effects::solve(const std::vector<FactorBlock>& factors, View<const double> curvature, double* x) {
    share(std::ssize(factors), [&](Index lo, Index hi, int member) {
        double* lanes = equations_[member].data();
        for (Index b = lo; b < hi; ++b) {
            const FactorBlock& block = factors[b];
            const Index width = block.matrix.width(), n_cells = block.matrix.size();
            std::fill_n(lanes, n_cells * width, 0.0);
            const auto for_each_entry = [&](auto&& visit) {
                for (Index place = 0; place < std::ssize(block.tables); ++place) {
                    double* of_table = x + tables_[block.tables[place]].first_cell * width_;
                    for (Index cell = 0; cell < n_cells; ++cell)
                        for (Index c = 0; c < width_; ++c)
                            visit(of_table[cell * width_ + c], lanes[cell * width + place + c]);
                }
            };
            for_each_entry([](double& entry, double& lane) { lane = entry; });
            with_lanes(static_cast<int>(std::min(width, most_lanes)),
                       [&](auto n_lanes) { block.matrix.template solve<n_lanes()>(lanes); });
            for_each_entry([](double& entry, double& lane) { entry = lane; });
        }
    });
    for (Index k = n_cells_ * width_; k < (n_cells_ + 1) * width_; ++k) x[k] /= curvature[k] + least_curvature;
}

}  // namespace tanager
