// Discriminative scores of changed parents: what searches over structures with closed-form CPTs go by.
//
// The log-joint of a row is a sum with one term for each feature, so another parent for a feature changes one term. The
// score of a structure is a weighted mean over rows of the conditional log-likelihood or of the margin, cut off at
// gamma; neither changes when a constant is added to the log-joint of a row.
//
// Lines of a log-joint [N, P] are filled up to whole lanes with no_class.
#pragma once

#include "lanes.h"
#include "views.h"

namespace tanager {

// Rows, and the CPTs that their terms are read from (tanager.model.moves.Terms). Arenas end in a line of zeros, which
// rows with unknown values read.
struct Terms {
    View<const float> theta;             // log-probabilities of all candidates' CPTs
    View<const float> own;               // the same for a row's own class, where the row may be left out of the counts
    Matrix<const std::int32_t> columns;  // [D + P + 1, N]: codes, feature-major; zeros for the virtual feature
    View<const Index> y;                 // [N]
    View<const double> weight;           // [N], summing to one
    Index n_classes;
};

// The conditional log-likelihood, or the margin between the own class and the next, cut off at gamma.
struct Score {
    bool is_margin;
    double gamma;
};

// Moves to try one after the other, and what decides on those that lower the score.
struct Annealing {
    View<const Index> slot;        // [T]: the feature of each move
    View<const Index> candidate;   // [T]: its new candidate
    View<const double> threshold;  // [T]: a move is made if the score changes by at least this; not above zero
};

// A structure that moves are made in, and the best one met.
struct Walk {
    View<Index> selected;     // [S]
    Matrix<float> log_joint;  // [N, P]
    View<Index> best;         // [S]
    View<double> scores;      // the score now, and that of the best structure
};

// What is beyond the last class of a line: no class, as far as maxima and sums can tell.
constexpr float no_class = -1e30f;

// Length of the lines of a log-joint.
inline Index line_width(Index n_classes) { return padded(n_classes, lanes_for(n_classes)); }

// Fill the CPTs of slots lo to hi with logs of smoothed frequencies, each cell with so much less of its own.
void log_frequencies(Index lo, Index hi, View<const double> counts, const Cpts& cpts, Index n_classes, double smoothing,
                     double deducted, View<float> theta);

// Fill log_joint with the prior: the log-joint of rows before any feature is seen.
void fill_with_prior(View<const float> prior, Matrix<float> log_joint);

// Add a candidate's terms to the log-joint, or take them away.
void add_terms(Index slot, Index candidate, float sign, const Terms& terms, const Cpts& cpts, Matrix<float> log_joint);

// Score of the log-joint that a candidate's terms make of base [N, P], which lacks those of the slot.
double candidate_score(Index slot, Index candidate, const Terms& terms, const Cpts& cpts, Matrix<const float> base,
                       Score score);

// Fill scores [E] for the candidates of slots lo to hi: the score if the slot had that candidate instead.
void move_scores(Index lo, Index hi, const Terms& terms, const Cpts& cpts, View<const Index> selected,
                 Matrix<const float> log_joint, Score score, View<double> scores);

// Whether the ancestor is met on the way up from a feature, itself included; what is no feature ends the way.
bool descends_from(Index feature, Index ancestor, View<const Index> parent, View<const Index> selected);

// Try moves in turn; those that would close a cycle are passed over.
void anneal(const Annealing& moves, const Terms& terms, const Cpts& cpts, Score score, const Walk& walk);

}  // namespace tanager
