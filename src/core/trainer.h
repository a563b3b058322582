// A run of gradient training: whole epochs, step by step, without Python in between (section 3.2 of the paper).
//
// A step draws a structure, reads the batch, sums its log-joint, asks the loss, lets regularisers move the drawn CPTs,
// descends on CPTs, prior and phi. Rows are shared out among threads where they are read, slots where CPTs are updated.
#pragma once

#include <functional>
#include <vector>

#include "arborescence.h"
#include "batch.h"
#include "crew.h"
#include "descent.h"
#include "losses.h"
#include "parents.h"
#include "smoothing.h"
#include "views.h"

namespace tanager {

// The rows that training sees.
struct Rows {
    Codes codes;
    View<const Index> y;
    View<const float> weight;  // empty if all are equal
};

// What a run does in every step.
struct RunSettings {
    Adam adam;
    bool is_dense = false;
    View<const Index>
        forest_parents;  // [E]: the slot of each candidate's parent, S for none; empty: no forests are drawn
    Loss loss;
    double dropout = 0.0;
    Shrinkage shrinkage;
    Smoothness smoothness;
    Pull pull;
    View<const double> size_cost;  // [E]: what a candidate's probability costs, or empty
};

// What an epoch gives to its steps.
struct Epoch {
    Index step;                    // steps done before
    View<const Index> rows;        // [n_steps * B]
    Matrix<const double> gumbel;   // [n_steps, E]
    Matrix<const double> uniform;  // [n_steps, S], or empty without dropout
    double rate;                   // learning rate of CPTs and prior
    double tau;
    double phi_rate;
};

// What a step asks of its caller, once each; the functions may be empty.
struct Callbacks {
    std::function<void()> check_interrupt;  // may throw
    std::function<double(Matrix<const float> log_joint, View<const Index> y, View<const float> weight,
                         Matrix<float> grad)>
        loss;  // fills grad and returns the mean loss of the batch
    // Fills what is summed over the rows of a step, which are elsewhere; the trainer then reads none of its own.
    std::function<LossValue(Index step, View<const Index> selected, const Sums& sums)> sums;
    std::function<void(Index step, View<Index> selected, View<double> soft)> change_structure;
    std::function<void(View<const Index> selected, double rate)> move_cpts;
    std::function<void(View<double> gradient)> add_phi_gradient;
};

class Trainer {
 public:
    Trainer(const Arena& arena, const Moments<float>& prior, const Moments<double>& phi, const Cpts& cpts,
            Matrix<const Index> pairs, const Rows& rows, Index batch_size, Index n_members, const RunSettings& settings,
            int n_threads);

    // Run the steps of an epoch; returns the mean loss and the mean error of its batches.
    LossValue run(const Epoch& epoch, const Callbacks& callbacks);

    // Sum the gradients of a batch with a given structure, and change nothing.
    LossValue sum(View<const Index> rows, View<const Index> selected, const Sums& sums, const Callbacks& callbacks);

    View<Index> selected() { return {selected_.data(), static_cast<Index>(selected_.size())}; }

 private:
    LossValue step(const Epoch& epoch, Index number, const Callbacks& callbacks);
    void draw_structure(const Epoch& epoch, Index number, const Callbacks& callbacks);
    // Gather the rows, sum their log-joint and evaluate the loss, unless it is the caller's.
    void read_batch(View<const Index> rows);
    LossValue ask_loss(const Callbacks& callbacks);
    SortedRows sort_rows();
    // Without rows, on what has been summed.
    void descend(const Epoch& epoch, Index number, const SortedRows* rows, const Callbacks& callbacks);
    Sums all_sums();
    void descend_phi_after(const Epoch& epoch, Index number, const Callbacks& callbacks);

    Arena arena_;
    Moments<float> prior_;
    Moments<double> phi_;
    Cpts cpts_;
    Matrix<const Index> pairs_;
    Rows rows_;
    Index batch_size_, n_members_, n_classes_;
    RunSettings settings_;
    Crew crew_;

    std::vector<std::pair<Index, Index>> row_ranges_, slot_ranges_, line_ranges_;
    std::vector<DescentScratch> descent_scratch_;
    std::vector<std::vector<float>> move_scratch_;
    std::vector<std::vector<Index>> place_scratch_;
    ForestScratch forest_scratch_;
    std::vector<Index> selected_, y_, sorted_y_;
    std::vector<double> soft_, weight_gradient_, phi_gradient_, size_gradient_, probabilities_;
    std::vector<float> weight_, log_joint_, grad_, sorted_grad_, cells_, prior_slope_;
    std::vector<std::int32_t> batch_, sorted_batch_;
    RowGradients row_gradients_;
};

}  // namespace tanager
