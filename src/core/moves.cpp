#include "moves.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tanager {

namespace {

// Where each row reads a candidate's terms: the line of its two values, or the zeros behind the last CPT if one of them
// is unknown.
struct Places {
    Places(Index slot, Index candidate, const Terms& terms, const Cpts& cpts)
        : x_child(terms.columns.row(cpts.child[slot])),
          x_parent(terms.columns.row(cpts.parent[candidate])),
          card(cpts.cards[cpts.child[slot]]),
          card_parent(cpts.cards[cpts.parent[candidate]]),
          first(cpts.offset[candidate]),
          nowhere(cpts.offset[cpts.offset.size - 1]),
          n_classes(terms.n_classes) {}

    Index operator[](Index n) const {
        // A negative code reads as a very large one.
        const Index child = static_cast<std::uint32_t>(x_child[n]), parent = static_cast<std::uint32_t>(x_parent[n]);
        const bool is_known = (child < card) & (parent < card_parent);
        return is_known ? first + (parent * card + child) * n_classes : nowhere;
    }

    const std::int32_t *x_child, *x_parent;
    Index card, card_parent, first, nowhere, n_classes;
};

// Rows are scored a block at a time: so many floats, so that their exponentials are one long loop.
constexpr Index block_size = 1024;

std::vector<float> block_for(Index width) { return std::vector<float>(std::max(block_size, width)); }

// Fill a block with how far the log-joint of each class is above that of the row's own class, whose place gets `own`.
template <int W>
void fill_block(Index start, Index n_rows, const Places& places, const Terms& terms, Matrix<const float> base,
                float own, float* block) {
    const Index width = base.columns;
    for (Index b = 0; b < n_rows; ++b) {
        const Index n = start + b, label = terms.y[n], place = places[n];
        const float *line = base.row(n), *term = terms.theta.data + place;
        float* out = block + b * width;
        const float of_own = line[label] + terms.own[place + label];
        for (Index c = 0; c < width; c += W) store<W>(out + c, load<W>(line + c) + load<W>(term + c) - of_own);
        out[label] = own;
    }
}

template <int W>
float largest(const float* line, Index width) {
    Lanes<W> found = load<W>(line);
    for (Index c = W; c < width; c += W) {
        const Lanes<W> value = load<W>(line + c);
        found = value > found ? value : found;
    }
    float parts[W];
    store<W>(parts, found);
    return *std::max_element(parts, parts + W);
}

// Sum of a line in double precision. One chain of additions would take as long as exp, so there are up to four.
template <int W>
double line_total(const float* line, Index width) {
    constexpr int n_chains = W < 4 ? W : 4;
    double parts[n_chains] = {};
    for (Index c = 0; c < width; c += n_chains)
        for (int k = 0; k < n_chains; ++k) parts[k] += static_cast<double>(line[c + k]);
    double sum = 0.0;
    for (const double part : parts) sum += part;
    return sum;
}

// Weighted sums over the rows of a block: of the margins, cut off at gamma ...
template <int W>
double margins(const float* block, Index n_rows, Index width, const double* weight, double gamma) {
    double sum = 0.0;
    for (Index b = 0; b < n_rows; ++b)
        sum += weight[b] * std::min(gamma, -static_cast<double>(largest<W>(block + b * width, width)));
    return sum;
}

// ... and of the log-probabilities of the own classes given the features, which count down to -88.
template <int W>
double log_probabilities(float* block, Index n_rows, Index width, const double* weight) {
    for (Index k = 0; k < n_rows * width; ++k) block[k] = exp_of(block[k]);
    double sum = 0.0;
    for (Index b = 0; b < n_rows; ++b) sum -= weight[b] * std::log(line_total<W>(block + b * width, width));
    return sum;
}

double score_with(Index slot, Index candidate, const Terms& terms, const Cpts& cpts, Matrix<const float> base,
                  Score score, std::vector<float>& block) {
    const Places places(slot, candidate, terms, cpts);
    const Index width = base.columns, at_once = static_cast<Index>(block.size()) / width;
    return with_lanes(lanes_for(terms.n_classes), [&](auto lanes) {
        double total = 0.0;
        for (Index start = 0; start < base.rows; start += at_once) {
            const Index n_rows = std::min(at_once, base.rows - start);
            fill_block<lanes()>(start, n_rows, places, terms, base, score.is_margin ? no_class : 0.0f, block.data());
            const double* weight = terms.weight.data + start;
            total += score.is_margin ? margins<lanes()>(block.data(), n_rows, width, weight, score.gamma)
                                     : log_probabilities<lanes()>(block.data(), n_rows, width, weight);
        }
        return total;
    });
}

}  // namespace

void log_frequencies(Index lo, Index hi, View<const double> counts, const Cpts& cpts, Index n_classes, double smoothing,
                     double deducted, View<float> theta) {
    std::vector<double> totals(n_classes);
    for (Index s = lo; s < hi; ++s) {
        const Index stride = cpts.cards[cpts.child[s]] * n_classes;
        const double added = smoothing * static_cast<double>(cpts.cards[cpts.child[s]]);
        // All values of the parent, of one candidate after the other.
        for (Index start = cpts.offset[cpts.ptr[s]]; start < cpts.offset[cpts.ptr[s + 1]]; start += stride) {
            std::fill(totals.begin(), totals.end(), 0.0);
            for (Index k = 0; k < stride; k += n_classes)
                for (Index c = 0; c < n_classes; ++c) totals[c] += counts[start + k + c];
            for (double& total : totals) total += added;
            for (Index k = 0; k < stride; k += n_classes)
                for (Index c = 0; c < n_classes; ++c) {
                    const double count = counts[start + k + c], less = std::min(count, deducted);
                    theta[start + k + c] =
                        static_cast<float>(std::log((count - less + smoothing) / (totals[c] - less)));
                }
        }
    }
}

void fill_with_prior(View<const float> prior, Matrix<float> log_joint) {
    std::fill_n(log_joint.data, log_joint.rows * log_joint.columns, no_class);
    for (Index n = 0; n < log_joint.rows; ++n)
        for (Index c = 0; c < prior.size; ++c) log_joint(n, c) = prior[c];
}

void add_terms(Index slot, Index candidate, float sign, const Terms& terms, const Cpts& cpts, Matrix<float> log_joint) {
    const Places places(slot, candidate, terms, cpts);
    with_lanes(lanes_for(terms.n_classes), [&](auto lanes) {
        constexpr int W = lanes();
        for (Index n = 0; n < log_joint.rows; ++n) {
            const Index label = terms.y[n], place = places[n];
            float* line = log_joint.row(n);
            const float of_own = line[label] + sign * terms.own[place + label];
            // What is beyond the last class is too low for a term to change it.
            for (Index c = 0; c < log_joint.columns; c += W)
                store<W>(line + c, load<W>(line + c) + sign * load<W>(terms.theta.data + place + c));
            line[label] = of_own;
        }
    });
}

double candidate_score(Index slot, Index candidate, const Terms& terms, const Cpts& cpts, Matrix<const float> base,
                       Score score) {
    std::vector<float> block = block_for(base.columns);
    return score_with(slot, candidate, terms, cpts, base, score, block);
}

void move_scores(Index lo, Index hi, const Terms& terms, const Cpts& cpts, View<const Index> selected,
                 Matrix<const float> log_joint, Score score, View<double> scores) {
    const Index size = log_joint.rows * log_joint.columns;
    std::vector<float> without(size), block = block_for(log_joint.columns);
    const Matrix<float> base{without.data(), log_joint.rows, log_joint.columns};
    for (Index s = lo; s < hi; ++s) {
        std::copy_n(log_joint.data, size, base.data);
        add_terms(s, selected[s], -1.0f, terms, cpts, base);
        for (Index e = cpts.ptr[s]; e < cpts.ptr[s + 1]; ++e)
            scores[e] = score_with(s, e, terms, cpts, {base.data, base.rows, base.columns}, score, block);
    }
}

bool descends_from(Index feature, Index ancestor, View<const Index> parent, View<const Index> selected) {
    // No way up is longer than this, unless it goes round in circles.
    for (Index step = 0; step < selected.size && feature != ancestor && feature < selected.size; ++step)
        feature = parent[selected[feature]];
    return feature == ancestor;
}

void anneal(const Annealing& moves, const Terms& terms, const Cpts& cpts, Score score, const Walk& walk) {
    const Matrix<float> log_joint = walk.log_joint;
    const Index size = log_joint.rows * log_joint.columns;
    std::vector<float> changed(size), block = block_for(log_joint.columns);
    const Matrix<float> base{changed.data(), log_joint.rows, log_joint.columns};
    for (Index t = 0; t < moves.slot.size; ++t) {
        const Index s = moves.slot[t], e = moves.candidate[t];
        Index& selected = walk.selected[s];
        if (e == selected || descends_from(cpts.parent[e], s, cpts.parent, {walk.selected.data, walk.selected.size}))
            continue;
        std::copy_n(log_joint.data, size, base.data);
        add_terms(s, selected, -1.0f, terms, cpts, base);
        const double found = score_with(s, e, terms, cpts, {base.data, base.rows, base.columns}, score, block);
        if (found - walk.scores[0] < moves.threshold[t]) continue;
        add_terms(s, e, 1.0f, terms, cpts, base);
        std::copy_n(base.data, size, log_joint.data);
        selected = e;
        walk.scores[0] = found;
        if (found > walk.scores[1]) {
            walk.scores[1] = found;
            std::copy(walk.selected.begin(), walk.selected.end(), walk.best.begin());
        }
    }
}

}  // namespace tanager
