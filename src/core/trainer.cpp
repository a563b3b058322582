#include "trainer.h"

#include <chrono>
#include <cmath>
#include <limits>

namespace tanager {

namespace {

template <class T>
View<T> all_of(std::vector<T>& values) {
    return {values.data(), static_cast<Index>(values.size())};
}

template <class T>
View<const T> read_all_of(const std::vector<T>& values) {
    return {values.data(), static_cast<Index>(values.size())};
}

// What a step on each slot's CPTs costs, up to a factor: all candidates are read with all rows, then one CPT of the
// slot, or with dense Adam each, is updated. The weights are measured, in nanoseconds.
std::vector<double> slot_costs(const Cpts& cpts, Index batch_entries, bool is_dense) {
    std::vector<double> costs;
    for (Index s = 0; s < cpts.n_slots(); ++s) {
        const auto n_candidates = static_cast<double>(cpts.ptr[s + 1] - cpts.ptr[s]);
        const auto cells = static_cast<double>(cpts.offset[cpts.ptr[s + 1]] - cpts.offset[cpts.ptr[s]]);
        const double moved = is_dense ? cells : cells / n_candidates;
        costs.push_back(0.05 * static_cast<double>(batch_entries) * n_candidates + 1.5 * moved);
    }
    return costs;
}

Index largest_cpt(const Cpts& cpts) {
    Index largest = 0;
    for (Index e = 0; e < cpts.parent.size; ++e) largest = std::max(largest, cpts.offset[e + 1] - cpts.offset[e]);
    return largest;
}

constexpr std::chrono::milliseconds interrupt_interval{50};

}  // namespace

Trainer::Trainer(const Arena& arena, const Moments<float>& prior, const Moments<double>& phi, const Cpts& cpts,
                 Matrix<const Index> pairs, const Rows& rows, Index batch_size, Index n_members,
                 const RunSettings& settings, int n_threads)
    : arena_(arena),
      prior_(prior),
      phi_(phi),
      cpts_(cpts),
      pairs_(pairs),
      rows_(rows),
      batch_size_(batch_size),
      n_members_(n_members),
      n_classes_(prior.value.size),
      settings_(settings),
      crew_(n_threads),
      forest_scratch_(settings.forest_parents.size > 0 ? cpts.n_slots() : 0),
      grad_(static_cast<std::size_t>(batch_size * padded(n_classes_, lanes_for(n_classes_))), 0.0f),
      row_gradients_({grad_.data(), batch_size, padded(n_classes_, lanes_for(n_classes_))}) {
    const Index width = row_gradients_.grad.columns, n_slots = cpts.n_slots();
    const auto n_candidates = static_cast<std::size_t>(cpts.parent.size);
    row_ranges_ = split_by_cost(std::vector<double>(static_cast<std::size_t>(batch_size), 1.0), crew_.size());
    slot_ranges_ = split_by_cost(slot_costs(cpts, batch_size * width, settings.is_dense), crew_.size());
    // The last line is that of no parent and stays all zeros.
    line_ranges_ = split_by_cost(std::vector<double>(static_cast<std::size_t>(cpts.n_columns()), 1.0), crew_.size());
    const bool moves = settings.shrinkage.strength > 0.0 || settings.smoothness.strength > 0.0;
    for (int member = 0; member < crew_.size(); ++member) {
        descent_scratch_.emplace_back(cpts, n_classes_, batch_size);
        move_scratch_.emplace_back(static_cast<std::size_t>(moves ? largest_cpt(cpts) : 0));
        place_scratch_.emplace_back(static_cast<std::size_t>(ForwardScratch::chunk * batch_size));
    }
    // Some candidate of the slot itself, which is kept where no forest can be drawn.
    for (Index s = 0; s < n_slots; ++s) selected_.push_back(cpts.ptr[s]);
    y_.resize(static_cast<std::size_t>(batch_size));
    weight_.assign(static_cast<std::size_t>(batch_size), 1.0f);
    soft_.resize(n_candidates);
    weight_gradient_.assign(n_candidates, 0.0);
    phi_gradient_.resize(n_candidates);
    prior_slope_.resize(static_cast<std::size_t>(n_classes_));
    size_gradient_.resize(n_candidates);
    probabilities_.resize(n_candidates);
    log_joint_.assign(static_cast<std::size_t>(batch_size * width), 0.0f);
    batch_.assign(static_cast<std::size_t>(cpts.cards.size * batch_size), 0);
    sorted_batch_ = batch_;
    sorted_grad_ = grad_;
    sorted_y_ = y_;
}

LossValue Trainer::run(const Epoch& epoch, const Callbacks& callbacks) {
    const Index n_steps = epoch.gumbel.rows;
    LossValue sums{0.0, 0.0};
    auto last_check = std::chrono::steady_clock::now();
    for (Index number = 0; number < n_steps; ++number) {
        const LossValue value = step(epoch, number, callbacks);
        sums.loss += value.loss;
        sums.error += value.error;
        const auto now = std::chrono::steady_clock::now();
        if (callbacks.check_interrupt && now - last_check > interrupt_interval) {
            callbacks.check_interrupt();
            last_check = now;
        }
    }
    return {sums.loss / static_cast<double>(n_steps), sums.error / static_cast<double>(n_steps)};
}

LossValue Trainer::step(const Epoch& epoch, Index number, const Callbacks& callbacks) {
    draw_structure(epoch, number, callbacks);
    if (callbacks.sums) {
        cells_.resize(static_cast<std::size_t>(arena_.theta.value.size));
        const LossValue value = callbacks.sums(epoch.step + number, read_all_of(selected_), all_sums());
        descend(epoch, number, nullptr, callbacks);
        return value;
    }
    read_batch(epoch.rows.slice(number * batch_size_, (number + 1) * batch_size_));
    const LossValue value = ask_loss(callbacks);
    sum_prior({grad_.data(), batch_size_, row_gradients_.grad.columns}, batch_size_, all_of(prior_slope_));
    const SortedRows rows = sort_rows();
    descend(epoch, number, &rows, callbacks);
    return value;
}

LossValue Trainer::sum(View<const Index> rows, View<const Index> selected, const Sums& sums,
                       const Callbacks& callbacks) {
    std::copy_n(selected.data, selected.size, selected_.data());
    read_batch(rows);
    const LossValue value = ask_loss(callbacks);
    sum_prior({grad_.data(), batch_size_, row_gradients_.grad.columns}, batch_size_, sums.prior);
    const SortedRows sorted = sort_rows();
    crew_.run([&](int member) {
        const auto [lo, hi] = slot_ranges_[member];
        sum_cpts(lo, hi, arena_, cpts_, n_classes_, read_all_of(selected_), sorted, descent_scratch_[member], sums);
    });
    return value;
}

Sums Trainer::all_sums() { return {all_of(cells_), all_of(weight_gradient_), all_of(prior_slope_)}; }

void Trainer::draw_structure(const Epoch& epoch, Index number, const Callbacks& callbacks) {
    const View<const double> phi{phi_.value.data, phi_.value.size};
    const View<const double> noise{epoch.gumbel.row(number), epoch.gumbel.columns};
    if (settings_.forest_parents.size > 0)
        sample_forest(phi, noise, cpts_.ptr, settings_.forest_parents, epoch.tau, all_of(selected_), all_of(soft_),
                      forest_scratch_);
    else
        sample_parents(phi, noise, cpts_.ptr, epoch.tau, all_of(selected_), all_of(soft_));
    if (settings_.dropout > 0.0)
        drop_parents({epoch.uniform.row(number), epoch.uniform.columns}, settings_.dropout, cpts_, all_of(selected_),
                     all_of(soft_));
    if (callbacks.change_structure) callbacks.change_structure(epoch.step + number, all_of(selected_), all_of(soft_));
}

void Trainer::read_batch(View<const Index> rows) {
    for (Index b = 0; b < batch_size_; ++b) {
        y_[b] = rows_.y[rows[b]];
        if (rows_.weight.size > 0) weight_[b] = rows_.weight[rows[b]];
    }
    const Matrix<std::int32_t> batch{batch_.data(), cpts_.cards.size, batch_size_};
    const Matrix<float> log_joint{log_joint_.data(), batch_size_, row_gradients_.grad.columns};
    const double scale = mean_scale(read_all_of(weight_));
    crew_.run([&](int member) {
        const auto [lo, hi] = row_ranges_[member];
        gather_batch(lo, hi, rows_.codes, rows, pairs_, cpts_.cards, batch);
        batch_log_joint(lo, hi, arena_.theta.value.data, {prior_.value.data, n_classes_}, n_members_, cpts_,
                        read_all_of(selected_), {batch_.data(), cpts_.cards.size, batch_size_},
                        ForwardScratch{all_of(place_scratch_[member])}, log_joint);
        if (settings_.loss.kind != Loss::Kind::callback)
            evaluate_rows(lo, hi, settings_.loss, {log_joint.data, batch_size_, log_joint.columns}, n_classes_,
                          read_all_of(y_), read_all_of(weight_), scale, row_gradients_);
    });
}

LossValue Trainer::ask_loss(const Callbacks& callbacks) {
    const Matrix<const float> log_joint{log_joint_.data(), batch_size_, row_gradients_.grad.columns};
    LossValue value{};
    if (settings_.loss.kind != Loss::Kind::callback) {
        value = sum_up(row_gradients_);
    } else {
        value.loss =
            callbacks.loss(log_joint, read_all_of(y_),
                           rows_.weight.size > 0 ? read_all_of(weight_) : View<const float>{}, row_gradients_.grad);
        value.error = error_share(log_joint, n_classes_, read_all_of(y_), read_all_of(weight_));
        row_gradients_.single.clear();
        row_gradients_.full.resize(static_cast<std::size_t>(batch_size_));
        for (std::int32_t b = 0; b < batch_size_; ++b) row_gradients_.full[b] = b;
    }
    if (n_members_ > 1)
        for (float& each : grad_) each /= static_cast<float>(n_members_);
    return value;
}

SortedRows Trainer::sort_rows() {
    const Index width = row_gradients_.grad.columns, n_lines = cpts_.cards.size;
    const auto n_full = static_cast<Index>(row_gradients_.full.size());
    const auto n_single = static_cast<Index>(row_gradients_.single.size());
    if (n_full == batch_size_)
        return {{batch_.data(), n_lines, batch_size_}, {grad_.data(), batch_size_, width}, read_all_of(y_), n_full, 0};
    Index to = 0;
    for (const auto* rows : {&row_gradients_.full, &row_gradients_.single})
        for (const std::int32_t from : *rows) {
            std::copy_n(grad_.data() + from * width, width, sorted_grad_.data() + to * width);
            sorted_y_[to++] = y_[from];
        }
    crew_.run([&](int member) {
        const auto [lo, hi] = line_ranges_[member];
        for (Index line = lo; line < hi; ++line) {
            const std::int32_t* codes = batch_.data() + line * batch_size_;
            std::int32_t* out = sorted_batch_.data() + line * batch_size_;
            for (Index k = 0; k < n_full; ++k) out[k] = codes[row_gradients_.full[k]];
            for (Index k = 0; k < n_single; ++k) out[n_full + k] = codes[row_gradients_.single[k]];
        }
    });
    return {{sorted_batch_.data(), n_lines, batch_size_},
            {sorted_grad_.data(), batch_size_, width},
            read_all_of(sorted_y_),
            n_full,
            n_single};
}

void Trainer::descend(const Epoch& epoch, Index number, const SortedRows* rows, const Callbacks& callbacks) {
    const bool moves = settings_.shrinkage.strength > 0.0 || settings_.smoothness.strength > 0.0;
    if (callbacks.move_cpts) callbacks.move_cpts(read_all_of(selected_), epoch.rate);
    const Descent descent{epoch.step + number + 1, epoch.rate, settings_.adam, settings_.is_dense, settings_.pull};
    crew_.run([&](int member) {
        const auto [lo, hi] = slot_ranges_[member];
        if (moves)
            move_cpts(lo, hi, arena_, cpts_, read_all_of(selected_), settings_.shrinkage, settings_.smoothness,
                      epoch.rate, move_scratch_[member]);
        update_cpts(lo, hi, arena_, cpts_, n_classes_, read_all_of(selected_), rows, descent, descent_scratch_[member],
                    all_sums());
    });
    update_prior(prior_, read_all_of(prior_slope_), descent.step, epoch.rate, settings_.adam);
    if (cpts_.parent.size > cpts_.n_slots()) descend_phi_after(epoch, number, callbacks);
}

void Trainer::descend_phi_after(const Epoch& epoch, Index number, const Callbacks& callbacks) {
    phi_gradient(read_all_of(weight_gradient_), read_all_of(soft_), cpts_.ptr, epoch.tau, all_of(phi_gradient_));
    if (settings_.size_cost.size > 0) {
        parent_probabilities({phi_.value.data, phi_.value.size}, cpts_.ptr, all_of(probabilities_));
        phi_gradient(settings_.size_cost, read_all_of(probabilities_), cpts_.ptr, 1.0, all_of(size_gradient_));
        for (std::size_t e = 0; e < phi_gradient_.size(); ++e) phi_gradient_[e] += size_gradient_[e];
    }
    if (callbacks.add_phi_gradient) callbacks.add_phi_gradient(all_of(phi_gradient_));
    descend_phi(phi_, read_all_of(phi_gradient_), epoch.step + number + 1, epoch.phi_rate, settings_.adam);
}

}  // namespace tanager
