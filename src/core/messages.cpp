#include "messages.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tanager {

namespace {

double highest_of(const double* lines, Index n_lines, Index n_classes, Index c) {
    double highest = -std::numeric_limits<double>::infinity();
    for (Index x = 0; x < n_lines; ++x) highest = std::max(highest, lines[x * n_classes + c]);
    return highest;
}

// Fill lines[x_i, c] with the CPT of feature i for one value of its parent plus belief[x_i, c].
void weigh_values(const Forest& forest, Index i, Index x_parent, const double* __restrict belief,
                  double* __restrict lines) {
    const float* cpt = forest.cpt(i, x_parent);
    const Index size = forest.card(i) * forest.n_classes();
    for (Index k = 0; k < size; ++k) lines[k] = cpt[k] + belief[k];
}

// Whether the CPT of feature i is the same for a value of its parent as for the value before. Values of one group have
// equal lines, and comparing them takes a hundredth of the time of summing them: of 1,000 words a few have a group of
// their own.
bool is_as_before(const Forest& forest, Index i, Index x_parent) {
    if (x_parent == 0) return false;
    const auto size = static_cast<std::size_t>(forest.card(i) * forest.n_classes()) * sizeof(float);
    return std::memcmp(forest.cpt(i, x_parent - 1), forest.cpt(i, x_parent), size) == 0;
}

template <class Number>
void add_line(const Number* __restrict line, Index n_classes, double* __restrict out) {
    for (Index c = 0; c < n_classes; ++c) out[c] += line[c];
}

}  // namespace

RowState::RowState(const Forest& forest) {
    const Index n_classes = forest.n_classes(), n_values = forest.n_values();
    const Index largest = *std::max_element(forest.cpts.cards.begin(), forest.cpts.cards.end());
    value = std::make_unique_for_overwrite<Index[]>(forest.n_features() + 1);
    beliefs = std::make_unique_for_overwrite<double[]>(n_values * n_classes);
    log_joint = std::make_unique_for_overwrite<double[]>(n_classes);
    message = std::make_unique_for_overwrite<double[]>(n_classes);
    weight = std::make_unique_for_overwrite<double[]>(n_classes);
    joint = std::make_unique_for_overwrite<double[]>(n_values * n_classes);
    lines = std::make_unique_for_overwrite<double[]>(largest * n_classes);
}

void add_log_sum(const double* lines, Index n_lines, Index n_classes, double* message) {
    for (Index c = 0; c < n_classes; ++c) {
        const double highest = highest_of(lines, n_lines, n_classes, c);
        double total = 0.0;
        for (Index x = 0; x < n_lines; ++x) total += std::exp(lines[x * n_classes + c] - highest);
        message[c] += highest + std::log(total);
    }
}

void send(const Forest& forest, Index i, Index x_parent, const double* belief, bool is_max, double* lines,
          double* message) {
    const Index n_classes = forest.n_classes();
    weigh_values(forest, i, x_parent, belief, lines);
    if (is_max)
        for (Index c = 0; c < n_classes; ++c) message[c] += highest_of(lines, forest.card(i), n_classes, c);
    else
        add_log_sum(lines, forest.card(i), n_classes, message);
}

void condition(const Forest& forest, Index i, Index x_parent, const double* belief, double* lines) {
    const Index n_classes = forest.n_classes(), size = forest.card(i) * n_classes;
    weigh_values(forest, i, x_parent, belief, lines);
    for (Index c = 0; c < n_classes; ++c) {
        const double highest = highest_of(lines, forest.card(i), n_classes, c);
        double total = 0.0;
        for (Index k = c; k < size; k += n_classes) total += lines[k] = std::exp(lines[k] - highest);
        for (Index k = c; k < size; k += n_classes) lines[k] /= total;
    }
}

void read_row(const Forest& forest, const Codes& codes, Index n, RowState& row) {
    with_codes(codes, [&](const auto* x) {
        const auto* code = x + n * codes.columns;
        for (Index i = 0; i < codes.columns; ++i) {
            const auto unknown = static_cast<std::uint64_t>(forest.card(i));
            row.value[i] = static_cast<Index>(std::min(static_cast<std::uint64_t>(code[i]), unknown));
        }
    });
    row.value[codes.columns] = 0;
}

void collect(const Forest& forest, bool is_max, RowState& row) {
    const Index n_classes = forest.n_classes();
    double* log_joint = row.log_joint.get();
    std::fill_n(log_joint, n_classes, 0.0);
    for (Index i = 0; i < forest.n_features(); ++i) {
        const Index j = forest.parent(i);
        if (!row.knows(forest, i))
            std::fill_n(lines_of(forest, i, row.beliefs.get()), forest.card(i) * n_classes, 0.0);
        else if (row.knows(forest, j))
            add_line(forest.cpt(i, row.value[j]) + row.value[i] * n_classes, n_classes, log_joint);
    }
    for (Index position = forest.order.size - 1; position >= 0; --position) {
        const Index i = forest.order[position], j = forest.parent(i);
        const bool is_known = row.knows(forest, i), is_parent_known = row.knows(forest, j);
        if (is_known && is_parent_known) continue;
        const double* belief = lines_of(forest, i, row.beliefs.get());
        if (is_parent_known) {
            send(forest, i, row.value[j], belief, is_max, row.lines.get(), log_joint);
            continue;
        }
        double* above = lines_of(forest, j, row.beliefs.get());
        double* message = row.message.get();
        for (Index x = 0; x < forest.card(j); ++x, above += n_classes)
            if (is_known) {
                add_line(forest.cpt(i, x) + row.value[i] * n_classes, n_classes, above);
            } else {
                if (!is_as_before(forest, i, x)) {
                    std::fill_n(message, n_classes, 0.0);
                    send(forest, i, x, belief, is_max, row.lines.get(), message);
                }
                add_line(message, n_classes, above);
            }
    }
    for (Index c = 0; c < n_classes; ++c) log_joint[c] += forest.prior[c];
}

void weigh_classes(const Forest& forest, Index observed, RowState& row) {
    const Index n_classes = forest.n_classes();
    double* weight = row.weight.get();
    if (observed >= 0) {
        std::fill_n(weight, n_classes, 0.0);
        weight[observed] = 1.0;
        return;
    }
    const double highest = highest_of(row.log_joint.get(), n_classes, 1, 0);
    double total = 0.0;
    for (Index c = 0; c < n_classes; ++c) total += weight[c] = std::exp(row.log_joint[c] - highest);
    for (Index c = 0; c < n_classes; ++c) weight[c] /= total;
}

void distribute(const Forest& forest, RowState& row) {
    const Index n_classes = forest.n_classes();
    const double* weight = row.weight.get();
    double* lines = row.lines.get();
    std::fill_n(row.joint.get(), forest.n_values() * n_classes, 0.0);
    for (const Index i : forest.order) {
        double* own = lines_of(forest, i, row.joint.get());
        if (row.knows(forest, i)) {
            std::copy_n(weight, n_classes, own + row.value[i] * n_classes);
            continue;
        }
        const Index j = forest.parent(i);
        const bool is_parent_known = row.knows(forest, j);
        const Index first = is_parent_known ? row.value[j] : 0, last = is_parent_known ? first + 1 : forest.card(j);
        for (Index x_parent = first; x_parent < last; ++x_parent) {
            const double* above =
                is_parent_known ? weight : lines_of(forest, j, row.joint.get()) + x_parent * n_classes;
            if (x_parent == first || !is_as_before(forest, i, x_parent))
                condition(forest, i, x_parent, lines_of(forest, i, row.beliefs.get()), lines);
            for (Index x = 0; x < forest.card(i); ++x)
                for (Index c = 0; c < n_classes; ++c) own[x * n_classes + c] += above[c] * lines[x * n_classes + c];
        }
    }
}

}  // namespace tanager
