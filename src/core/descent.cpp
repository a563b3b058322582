#include "descent.h"

#include <algorithm>

#include "batch.h"

namespace tanager {

namespace {

// Some blocks [x_i, c] of a CPT, one for each of some values of the parent: parameters and moments, and scratch for
// exp(theta).
//
// CPTs are worked on in pieces of about so many entries, which stay in the nearest cache between the loops over them
// and are long enough for these loops.
struct Blocks {
    float* theta;
    float* mean;
    float* square;
    float* probability;
    Index n_parents;
    Index n_children;
    Index n_classes;

    Index size() const { return n_parents * n_children * n_classes; }
};

constexpr Index piece = 1024;

Index parents_at_once(Index n_block) { return std::max<Index>(piece / n_block, 1); }

// Call a function with the start of each piece of a CPT, and the number of the parent's values in it.
template <class Function>
void for_pieces(Index size, Index n_block, Function&& function) {
    const Index step = parents_at_once(n_block) * n_block;
    for (Index place = 0; place < size; place += step) function(place, std::min(step, size - place) / n_block);
}

// Write the sums over x_i of the lines values[:, x_i, C] to lines out[:, C]. Both end in slack; lines are written in
// order, so that what runs over is overwritten.
template <int W>
void sum_lines(const float* values, Index n_parents, Index n_children, Index n_classes, float* out) {
    for (Index j = 0; j < n_parents; ++j, values += n_children * n_classes, out += n_classes)
        for (Index c = 0; c < n_classes; c += W) {
            Lanes<W> sum = load<W>(values + c);
            for (Index i = 1; i < n_children; ++i) sum += load<W>(values + i * n_classes + c);
            store<W>(out + c, sum);
        }
}

// Write lines [:, C] to all lines out[:, x_i, C]. Both end in slack.
template <int W>
void tile_lines(const float* lines, Index n_parents, Index n_children, Index n_classes, float* out) {
    for (Index j = 0; j < n_parents; ++j, lines += n_classes)
        for (Index i = 0; i < n_children; ++i, out += n_classes)
            for (Index c = 0; c < n_classes; c += W) store<W>(out + c, load<W>(lines + c));
}

void exponentials(const float* __restrict theta, float* __restrict probability, Index size) {
    for (Index k = 0; k < size; ++k) probability[k] = exp_of(theta[k]);
}

void subtract(float* __restrict theta, const float* __restrict logs, Index size) {
    for (Index k = 0; k < size; ++k) theta[k] -= logs[k];
}

// Subtract the log-normaliser over x_i from theta, of which probability holds the exponentials.
template <int W>
void normalise(const Blocks& blocks, DescentScratch& scratch) {
    const Index n_parents = blocks.n_parents, n_children = blocks.n_children, n_classes = blocks.n_classes;
    if (n_children == 1) {
        // Exactly, since Adam makes whole steps of what rounding leaves: phi of a constant feature must not move.
        std::fill_n(blocks.theta, blocks.size(), 0.0f);
        return;
    }
    float* __restrict sums = scratch.sums.data();
    sum_lines<W>(blocks.probability, n_parents, n_children, n_classes, sums);
    for (Index k = 0; k < n_parents * n_classes; ++k) sums[k] = log_of(sums[k]);
    tile_lines<W>(sums, n_parents, n_children, n_classes, scratch.lines.data());
    subtract(blocks.theta, scratch.lines.data(), blocks.size());
}

// Add weight times what theta - goal differs by between the classes.
void add_pull(const Blocks& blocks, const float* __restrict goals, float weight, float* __restrict gradient) {
    const Index n_classes = blocks.n_classes, n_lines = blocks.n_parents * blocks.n_children;
    const float share = 1.0f / static_cast<float>(n_classes);
    const float* __restrict theta = blocks.theta;
    for (Index line = 0; line < n_lines; ++line, theta += n_classes, gradient += n_classes) {
        const float* goal = goals + line % blocks.n_children * n_classes;
        float mean = 0.0f;
        for (Index c = 0; c < n_classes; ++c) mean += theta[c] - goal[c];
        mean *= share;
        for (Index c = 0; c < n_classes; ++c) gradient[c] += weight * (theta[c] - goal[c] - mean);
    }
}

// Turn A into the gradient A - exp(theta) * S; lines hold S, tiled. Adam has a loop of its own: the two in one take 5 %
// longer in a step of satimage.
void subtract_products(float* __restrict gradient, const float* __restrict theta, const float* __restrict lines,
                       Index size) {
    for (Index k = 0; k < size; ++k) gradient[k] -= flushed(exp_of(theta[k]), least_probability) * lines[k];
}

// One step of Adam; the probabilities are those of theta before normalising. The gradient is set back to zero.
void descend(float* __restrict theta, float* __restrict mean, float* __restrict square, float* __restrict probability,
             float* __restrict gradient, Index size, float rate, const FloatAdam adam) {
    for (Index k = 0; k < size; ++k) {
        const float slope = gradient[k];
        const float m = flushed(adam.beta1 * mean[k] + adam.keep1 * slope, least_mean);
        const float v = flushed(adam.beta2 * square[k] + adam.keep2 * (slope * slope), least_square);
        const float value = theta[k] - rate * m / (std::sqrt(v) + adam.epsilon);
        mean[k] = m;
        square[k] = v;
        theta[k] = value;
        probability[k] = exp_of(value);
        gradient[k] = 0.0f;
    }
}

// One step of Adam on momentum alone: the gradient is zero.
void coast(float* __restrict theta, float* __restrict mean, float* __restrict square, float* __restrict probability,
           Index size, float rate, const FloatAdam adam) {
    for (Index k = 0; k < size; ++k) {
        const float m = flushed(adam.beta1 * mean[k], least_mean);
        const float v = flushed(adam.beta2 * square[k], least_square);
        const float value = theta[k] - rate * m / (std::sqrt(v) + adam.epsilon);
        mean[k] = m;
        square[k] = v;
        theta[k] = value;
        probability[k] = exp_of(value);
    }
}

// One step of Adam on a piece of a CPT; gradient holds A.
template <int W>
void descend_blocks(const Blocks& blocks, float* gradient, const float* goal, float pull, float rate,
                    const FloatAdam& adam, DescentScratch& scratch) {
    const Index n_parents = blocks.n_parents, n_children = blocks.n_children, n_classes = blocks.n_classes;
    sum_lines<W>(gradient, n_parents, n_children, n_classes, scratch.sums.data());
    tile_lines<W>(scratch.sums.data(), n_parents, n_children, n_classes, scratch.lines.data());
    subtract_products(gradient, blocks.theta, scratch.lines.data(), blocks.size());
    if (goal != nullptr) add_pull(blocks, goal, pull, gradient);
    descend(blocks.theta, blocks.mean, blocks.square, blocks.probability, gradient, blocks.size(), rate, adam);
    normalise<W>(blocks, scratch);
}

// Let the moments of a CPT that has rested decay by the steps it missed.
void wake(float* __restrict mean, float* __restrict square, Index size, Index missed, const Adam& adam) {
    const auto decay1 = static_cast<float>(std::pow(adam.beta1, static_cast<double>(missed)));
    const auto decay2 = static_cast<float>(std::pow(adam.beta2, static_cast<double>(missed)));
    for (Index k = 0; k < size; ++k) {
        mean[k] = flushed(mean[k] * decay1, least_mean);
        square[k] = flushed(square[k] * decay2, least_square);
    }
}

// Add each row's gradient to its line of the CPT that starts at first; rows with an unknown value have their place at
// nowhere, and are dropped. Meanwhile the moments, which are needed next, are prefetched.
template <int T, bool has_whole>
void scatter(const Index* places, Index first, Index nowhere, const SortedRows& rows, const Arena& arena, Index n_whole,
             float* gradient) {
    const float *mean = arena.theta.mean.data + first, *square = arena.theta.square.data + first;
    const auto prefetch_moments = [&](Index n) {
        prefetch(mean + 16 * n);
        prefetch(square + 16 * n);
    };
    for (Index n = 0; n < rows.n_full; ++n) {
        prefetch_moments(n);
        if (places[n] == nowhere) continue;
        float* line = gradient + (places[n] - first);
        const float* grad = rows.grad.row(n);
        for (Index c = 0; has_whole && c < n_whole; c += 8) store<8>(line + c, load<8>(line + c) + load<8>(grad + c));
        if constexpr (T > 0) store<T>(line + n_whole, load<T>(line + n_whole) + load<T>(grad + n_whole));
    }
    for (Index n = rows.n_full; n < rows.n_full + rows.n_single; ++n) {
        prefetch_moments(n);
        if (places[n] != nowhere) gradient[places[n] - first + rows.y[n]] += rows.grad(n, rows.y[n]);
    }
}

// Sum of grad[n, c] * theta[x_j, x_i, c] over the batch: the gradient of a candidate's weight.
//
// Four rows are summed apart, so that one addition need not wait for the other. As all CPTs together are more than the
// caches hold, the next one is prefetched meanwhile, evenly from the first row to the last.
template <int T, bool has_whole>
float weigh(const float* theta, const Index* places, const SortedRows& rows, Index n_whole, View<const float> next) {
    constexpr int n_tail = T > 0 ? T : 2;
    Lanes<8> sum0{}, sum1{}, sum2{}, sum3{};
    Lanes<n_tail> tail0{}, tail1{}, tail2{}, tail3{};
    const Index width = rows.grad.columns;
    const float *grad = rows.grad.data, *ahead = next.data;
    const Index n_rows = rows.n_full + rows.n_single, stride = next.size / (n_rows / 4 + 1) + 1;
    Index n = 0;
    for (; n + 3 < rows.n_full; n += 4, grad += 4 * width, ahead += stride) {
        for (Index k = 0; k < stride; k += 16) prefetch(ahead + k);
        const float *line0 = theta + places[n], *line1 = theta + places[n + 1];
        const float *line2 = theta + places[n + 2], *line3 = theta + places[n + 3];
        for (Index c = 0; has_whole && c < n_whole; c += 8) {
            sum0 += load<8>(grad + c) * load<8>(line0 + c);
            sum1 += load<8>(grad + width + c) * load<8>(line1 + c);
            sum2 += load<8>(grad + 2 * width + c) * load<8>(line2 + c);
            sum3 += load<8>(grad + 3 * width + c) * load<8>(line3 + c);
        }
        if constexpr (T > 0) {
            tail0 += load<T>(grad + n_whole) * load<T>(line0 + n_whole);
            tail1 += load<T>(grad + width + n_whole) * load<T>(line1 + n_whole);
            tail2 += load<T>(grad + 2 * width + n_whole) * load<T>(line2 + n_whole);
            tail3 += load<T>(grad + 3 * width + n_whole) * load<T>(line3 + n_whole);
        }
    }
    for (; n < rows.n_full; ++n, grad += width) {
        const float* line = theta + places[n];
        for (Index c = 0; has_whole && c < n_whole; c += 8) sum0 += load<8>(grad + c) * load<8>(line + c);
        if constexpr (T > 0) tail0 += load<T>(grad + n_whole) * load<T>(line + n_whole);
    }
    float of_single = 0.0f;
    for (; n < n_rows; ++n, grad += width) {
        if (n % 4 == 0) {
            for (Index k = 0; k < stride; k += 16) prefetch(ahead + k);
            ahead += stride;
        }
        of_single += grad[rows.y[n]] * theta[places[n] + rows.y[n]];
    }
    const float of_tail = total<n_tail>((tail0 + tail1) + (tail2 + tail3));
    return total<8>((sum0 + sum1) + (sum2 + sum3)) + of_tail + of_single;
}

// Sum the gradient of a slot's chosen CPT into the scratch, and fill those of the weights of its candidates.
void sum_slot(Index s, Index chosen, const Arena& arena, const Cpts& cpts, Index n_classes, const SortedRows& rows,
              DescentScratch& scratch, View<double> weight) {
    const LineParts parts(n_classes);
    const Index first = cpts.ptr[s], stop = cpts.ptr[s + 1], n_rows = rows.n_full + rows.n_single;
    const Index nowhere = cpts.offset[cpts.offset.size - 1];
    const auto find_places = [&](Index e, std::vector<Index>& places) {
        fill_places(rows.batch, cpts, s, e, n_classes, 0, n_rows, places.data());
    };
    find_places(chosen, scratch.chosen_places);
    for (Index e = first; e < stop && stop - first > 1; ++e) {
        if (e != chosen) find_places(e, scratch.places);
        const Index* places = e == chosen ? scratch.chosen_places.data() : scratch.places.data();
        const Index next = cpts.offset[e + 1], after = cpts.offset[std::min(e + 2, cpts.offset.size - 1)];
        const View<const float> cpt_ahead{arena.theta.value.data + next, after - next};
        weight[e] = static_cast<double>(with_parts(parts, [&](auto tail, auto has_whole) {
            return weigh<tail(), has_whole()>(arena.theta.value.data, places, rows, parts.whole, cpt_ahead);
        }));
    }
    with_parts(parts, [&](auto tail, auto has_whole) {
        scatter<tail(), has_whole()>(scratch.chosen_places.data(), cpts.offset[chosen], nowhere, rows, arena,
                                     parts.whole, scratch.gradient.data());
    });
}

template <int W>
void update_slots(Index lo, Index hi, const Arena& arena, const Cpts& cpts, Index n_classes, View<const Index> selected,
                  const SortedRows* rows, const Descent& descent, DescentScratch& scratch, const Sums& sums) {
    const FloatAdam adam(descent.adam);
    const auto coasting_rate = static_cast<float>(descent.adam.corrected(descent.rate, descent.step));
    const BiasCorrection correction(descent.adam);
    const Index rest_after = descent.is_dense ? descent.adam.rest_after() : 0;
    for (Index s = lo; s < hi; ++s) {
        const Index first = cpts.ptr[s], stop = cpts.ptr[s + 1], chosen = selected[s];
        const Index child = cpts.child[s], card = cpts.cards[child], n_block = card * n_classes;
        const auto blocks_at = [&](Index place, Index n_parents) {
            return Blocks{arena.theta.value.data + place,
                          arena.theta.mean.data + place,
                          arena.theta.square.data + place,
                          scratch.probability.data(),
                          n_parents,
                          card,
                          n_classes};
        };
        const Index start = cpts.offset[chosen], size = cpts.offset[chosen + 1] - start;
        if (rows != nullptr)
            sum_slot(s, chosen, arena, cpts, n_classes, *rows, scratch, sums.weight);
        else
            std::copy_n(sums.cells.data + start, size, scratch.gradient.data());
        const Index missed = descent.step - arena.last[chosen] - 1 - rest_after;
        if (descent.is_dense && arena.updates[chosen] > 0 && missed > 0)
            wake(arena.theta.mean.data + start, arena.theta.square.data + start, size, missed, descent.adam);
        arena.updates[chosen] += 1;
        arena.last[chosen] = descent.step;
        const Index steps = descent.is_dense ? descent.step : arena.updates[chosen];
        const auto rate = static_cast<float>(descent.rate * correction.after(steps));
        const float* goal = descent.pull.weight > 0.0f ? descent.pull.goals.data + descent.pull.offset[child] : nullptr;
        for_pieces(size, n_block, [&](Index place, Index n_parents) {
            descend_blocks<W>(blocks_at(start + place, n_parents), scratch.gradient.data() + place, goal,
                              descent.pull.weight, rate, adam, scratch);
        });
        if (!descent.is_dense) continue;
        for (Index e = first; e < stop; ++e) {
            if (e == chosen || arena.updates[e] == 0 || descent.step - arena.last[e] > rest_after) continue;
            for_pieces(cpts.offset[e + 1] - cpts.offset[e], n_block, [&](Index place, Index n_parents) {
                const Blocks blocks = blocks_at(cpts.offset[e] + place, n_parents);
                coast(blocks.theta, blocks.mean, blocks.square, blocks.probability, blocks.size(), coasting_rate, adam);
                normalise<W>(blocks, scratch);
            });
        }
    }
}

}  // namespace

DescentScratch::DescentScratch(const Cpts& cpts, Index n_classes, Index n_rows) {
    Index largest = 0, largest_block = 0;
    for (Index s = 0; s < cpts.n_slots(); ++s) {
        largest_block = std::max(largest_block, cpts.cards[cpts.child[s]] * n_classes);
        for (Index e = cpts.ptr[s]; e < cpts.ptr[s + 1]; ++e)
            largest = std::max(largest, cpts.offset[e + 1] - cpts.offset[e]);
    }
    constexpr Index slack = 16;
    places.assign(static_cast<std::size_t>(n_rows), 0);
    chosen_places = places;
    gradient.assign(static_cast<std::size_t>(largest + n_classes + slack), 0.0f);
    const Index largest_piece = std::max(piece, largest_block);
    lines.assign(static_cast<std::size_t>(largest_piece + n_classes + slack), 0.0f);
    probability = lines;
    sums = lines;
}

void update_cpts(Index lo, Index hi, const Arena& arena, const Cpts& cpts, Index n_classes, View<const Index> selected,
                 const SortedRows* rows, const Descent& descent, DescentScratch& scratch, const Sums& sums) {
    with_lanes(lanes_for(n_classes), [&](auto lanes) {
        update_slots<lanes()>(lo, hi, arena, cpts, n_classes, selected, rows, descent, scratch, sums);
    });
}

void sum_cpts(Index lo, Index hi, const Arena& arena, const Cpts& cpts, Index n_classes, View<const Index> selected,
              const SortedRows& rows, DescentScratch& scratch, const Sums& sums) {
    for (Index s = lo; s < hi; ++s) {
        const Index start = cpts.offset[selected[s]], size = cpts.offset[selected[s] + 1] - start;
        sum_slot(s, selected[s], arena, cpts, n_classes, rows, scratch, sums.weight);
        // Lanes run over the end of a CPT, so that sums must not be made in place: the next one may be another
        // thread's.
        std::copy_n(scratch.gradient.data(), size, sums.cells.data + start);
        std::fill_n(scratch.gradient.data(), size, 0.0f);
    }
}

void sum_prior(Matrix<const float> grad, Index n_rows, View<float> slope) {
    std::fill_n(slope.data, slope.size, 0.0f);
    for (Index n = 0; n < n_rows; ++n)
        for (Index c = 0; c < slope.size; ++c) slope[c] += grad(n, c);
}

void update_prior(const Moments<float>& prior, View<const float> slope, Index step, double rate, const Adam& adam) {
    const Index n_classes = prior.value.size;
    const FloatAdam in_float(adam);
    const auto corrected = static_cast<float>(adam.corrected(rate, step));
    float slope_sum = 0.0f;
    for (const float each : slope) slope_sum += each;
    float normaliser = 0.0f;
    for (Index c = 0; c < n_classes; ++c) {
        const float gradient = slope[c] - exp_of(prior.value[c]) * slope_sum;
        prior.mean[c] = flushed(in_float.beta1 * prior.mean[c] + in_float.keep1 * gradient, least_mean);
        prior.square[c] =
            flushed(in_float.beta2 * prior.square[c] + in_float.keep2 * (gradient * gradient), least_square);
        prior.value[c] -= corrected * prior.mean[c] / (std::sqrt(prior.square[c]) + in_float.epsilon);
        normaliser += exp_of(prior.value[c]);
    }
    for (Index c = 0; c < n_classes; ++c) prior.value[c] -= log_of(normaliser);
}

void normalise_cpts(View<float> theta, const Cpts& cpts, Index n_classes) {
    DescentScratch scratch(cpts, n_classes, 0);
    with_lanes(lanes_for(n_classes), [&](auto lanes) {
        for (Index s = 0; s < cpts.n_slots(); ++s) {
            const Index card = cpts.cards[cpts.child[s]], start = cpts.offset[cpts.ptr[s]];
            for_pieces(cpts.offset[cpts.ptr[s + 1]] - start, card * n_classes, [&](Index place, Index n_parents) {
                const Blocks blocks{theta.data + start + place,
                                    nullptr,
                                    nullptr,
                                    scratch.probability.data(),
                                    n_parents,
                                    card,
                                    n_classes};
                exponentials(blocks.theta, blocks.probability, blocks.size());
                normalise<lanes()>(blocks, scratch);
            });
        }
    });
}

}  // namespace tanager
