// Sums of effects: the conditional likelihood of classes whose scores are sums over tables, with its gradient.
//
//   score(c | x) = bias_c + sum over tables t of theta_t[cell_t(x), c],   loss = sum over rows of w (-log softmax_y)
//
// A table has a cell for each value of one column, or for each pair of values of two. The loss is convex in theta. With
// two classes only the difference of their scores matters: theta then has one entry a cell, and softmax is a sigmoid.
//
// If only some of the classes are there, drawn at random, each stands for k: softmax_y is then exp(score_y) over
// exp(score_y) + k times the sum of the others, and gradients are what they are, in expectation, with all classes.
//
// The penalty is a quadratic form, too: for each table a ridge on its entries, squared differences of neighbouring
// cells along either axis, each edge with a weight of its own, and squared differences of these differences.
//
// Rows are scored in ranges and gradients are summed in ranges of tables, each table in the order of the rows: results
// have the same bits for any number of threads.
#pragma once

#include <numeric>
#include <vector>

#include "banded.h"
#include "crew.h"
#include "views.h"

namespace tanager {

// One table: the column of the cells' first index, that of the second, which varies fastest, or -1, and where its cells
// start among all cells.
struct EffectTable {
    Index column, other;
    Index card, card_other;
    Index first_cell;

    Index n_cells() const { return card * card_other; }
};

// Strengths of the penalties of one table.
struct Penalty {
    double ridge;                    // on squares of entries
    double along, across;            // on squares of differences along the first and along the second index
    double bend_along, bend_across;  // on squares of differences of differences
};

// Tables of one shape whose second derivatives are factorised and solved with side by side, each in lanes of its own.
struct FactorBlock {
    std::vector<Index> tables;
    BandedMatrix matrix;
};

class Effects {
 public:
    // Columns are [K, N], with every code below its card. Weights of edges are those between values v and v + 1. More
    // copies than 1 require more than two classes.
    Effects(const Codes& columns, View<const Index> y, View<const double> weight, Index n_classes,
            View<const Index> cards, std::vector<std::vector<double>> edges, std::vector<EffectTable> tables,
            double copies, int n_threads);

    Index n_rows() const { return static_cast<Index>(y_.size()); }
    Index n_classes() const { return n_classes_; }
    Index n_tables() const { return static_cast<Index>(tables_.size()); }
    double weight() const { return std::accumulate(weight_.begin(), weight_.end(), 0.0); }  // of all rows
    Index width() const { return width_; }                       // entries of a cell: classes, or 1 where there are two
    Index n_entries() const { return (n_cells_ + 1) * width_; }  // of theta: cells, then the bias

    // The loss with its penalties; gradient [n_entries] is filled.
    double loss(View<const double> theta, View<const Penalty> penalties, View<double> gradient);

    // Probabilities of the classes of each row, [N, C].
    void probabilities(View<const double> theta, Matrix<double> out);

    // Sums of weights p (1 - p) over the rows of each cell, [n_entries]: the diagonal of the loss's second derivative.
    void curvature(View<const double> theta, View<double> out);

    // The diagonal of the penalties' second derivative, added to out [n_entries].
    void add_penalty_curvature(View<const Penalty> penalties, View<double> out) const;

    // For each table of one column: the degrees of freedom that rows decide on, tr((H + S)^-1 H) with the mean
    // curvature H of its cells over the classes and the penalty's form S, and the penalty theta' S theta; zero for
    // pairs.
    void freedom(View<const double> theta, View<const Penalty> penalties, View<double> degrees, View<double> pulls);

    // The second derivative of each table by itself, of the loss with its penalties, as factors; curvature is the
    // diagonal for the loss alone. Of pairs it is one for all classes, and may leave out what holds lines together.
    std::vector<FactorBlock> factors(View<const double> curvature, View<const Penalty> penalties);

    // Solve equations with these factors for x [n_entries] in place; curvature says those of the bias.
    void solve(const std::vector<FactorBlock>& factors, View<const double> curvature, double* x);

 private:
    void take(View<const double> theta);
    template <class Finish>
    void score_rows(Finish&& finish);
    void sum_rows(View<double> out);
    void sum_tables(Index first, Index n_tables, View<double> out, std::vector<float>& sums);
    const std::uint16_t* column_of(const EffectTable& table, Index row) const {
        return columns_[table.column].data() + row;
    }
    const std::uint16_t* other_column_of(const EffectTable& table, Index row) const {
        return table.other < 0 ? nullptr : columns_[table.other].data() + row;
    }
    double penalise(Index t, const Penalty& penalty, const double* theta, double* scratch, double* gradient) const;
    Index band_of(Index t, const Penalty& penalty) const;
    double degrees_of_freedom(Index t, const Penalty& penalty, const double* curvature) const;
    void fill_matrix(FactorBlock& block, View<const double> curvature, View<const Penalty> penalties) const;
    template <class Visit>
    void for_each_edge(const EffectTable& table, const Penalty& penalty, Visit&& visit) const;
    template <class Visit>
    void for_each_bend(const EffectTable& table, const Penalty& penalty, Visit&& visit) const;
    template <class Add>
    void add_penalty(const EffectTable& table, const Penalty& penalty, Add&& add) const;
    // Call work(lo, hi, member) for a range of the items for each member of the crew.
    template <class Work>
    void share(Index n_items, Work&& work) {
        const Index n_members = crew_.size();
        crew_.run([&](int member) { work(n_items * member / n_members, n_items * (member + 1) / n_members, member); });
    }

    bool is_binary() const { return n_classes_ == 2; }

    Index n_classes_, width_, lanes_, stride_;  // stride: entries of a cell with lanes to spare
    Index n_cells_;
    std::vector<std::vector<std::uint16_t>> columns_;
    std::vector<Index> y_;
    std::vector<float> is_second_;  // with two classes: whether the class is the second
    std::vector<float> weight_;
    std::vector<std::vector<double>> edges_;
    std::vector<EffectTable> tables_;
    float log_copies_;
    std::vector<float> theta_;     // [n_cells + 1, stride]
    std::vector<float> residual_;  // [N, stride]: what gradients are sums of
    std::vector<double> row_loss_;
    // Scratch of each member of the crew.
    std::vector<std::vector<float>> sums_;           // of the tables that are summed together
    std::vector<std::vector<std::int32_t>> places_;  // [T, block]: where the lines of rows start
    std::vector<std::vector<double>> pulls_;         // three times the largest table
    std::vector<std::vector<double>> equations_;     // a block's, side by side, [n_cells, width of the matrix]
    Crew crew_;
};

// The second derivative of the loss with its penalties, table by table, as the search for the minimum needs it.
class CurvatureGuess {
 public:
    CurvatureGuess(Effects& effects, View<const Penalty> penalties)
        : effects_(effects), penalties_(penalties), diagonal_(static_cast<std::size_t>(effects.n_entries())) {}

    void take(View<const double> theta) {
        effects_.curvature(theta, {diagonal_.data(), effects_.n_entries()});
        factors_ = effects_.factors(curvature(), penalties_);
    }
    void solve(double* x) const { effects_.solve(factors_, curvature(), x); }

 private:
    View<const double> curvature() const { return {diagonal_.data(), effects_.n_entries()}; }

    Effects& effects_;
    View<const Penalty> penalties_;
    std::vector<double> diagonal_;
    std::vector<FactorBlock> factors_;
};

// How much a table of each pair of columns would add to scores with these residuals, as a matrix [K, K].
//
// One Newton step for the table alone, with a ridge: half the sum over cells and classes of (G^2 - H) / (H + ridge),
// where G sums the residuals of the rows of a cell and H their curvature. H is also what G^2 would be by chance.
void pair_gains(Index lo, Index hi, const Codes& columns, View<const Index> cards, Matrix<const float> residual,
                Matrix<const float> curvature, double ridge, Matrix<double> gains);

}  // namespace tanager
