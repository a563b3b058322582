#include "settling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lanes.h"

namespace tanager {

namespace {

constexpr double step_of_multipliers = 0.8;  // with 1.3 and more they oscillate
constexpr double least_share = 0.1;          // of a frequency that classes can take it down to in a sweep
constexpr double enough = 0.05;  // of frequencies: less makes no difference to predictions with half the cells unknown
constexpr Index patience = 10;   // sweeps that bring nothing nearer
constexpr double tiny = 1e-300;

// Log-sums over the lines of one table after the other, in memory that is made once. Exponentials of a whole table are
// one loop, which vectorises; lines of few classes are too short for that.
class LogSums {
 public:
    LogSums(Index largest, Index n_classes)
        : n_classes_(n_classes),
          terms_(static_cast<std::size_t>(largest)),
          highest_(static_cast<std::size_t>(n_classes)) {}

    // Fill sums[c] with the log-sum over x of lines[x, c] + more[x, c], where there is more.
    void operator()(const double* __restrict lines, const double* __restrict more, Index n_lines, double* sums) {
        const Index size = n_lines * n_classes_;
        double* __restrict terms = terms_.data();
        for (Index k = 0; k < size; ++k) terms[k] = more == nullptr ? lines[k] : lines[k] + more[k];
        std::copy_n(terms, n_classes_, highest_.begin());
        for (Index x = 1; x < n_lines; ++x)
            for (Index c = 0; c < n_classes_; ++c) highest_[c] = std::max(highest_[c], terms[x * n_classes_ + c]);
        for (Index x = 0; x < n_lines; ++x)
            for (Index c = 0; c < n_classes_; ++c) terms[x * n_classes_ + c] -= highest_[c];
        for (Index k = 0; k < size; ++k) terms[k] = exp_or_zero(terms[k]);
        std::fill_n(sums, n_classes_, 0.0);
        for (Index x = 0; x < n_lines; ++x)
            for (Index c = 0; c < n_classes_; ++c) sums[c] += terms[x * n_classes_ + c];
        for (Index c = 0; c < n_classes_; ++c) sums[c] = highest_[c] + std::log(sums[c]);
    }

    // The log-sum of the classes' numbers.
    double operator()(const double* of_classes) const {
        const double highest = *std::max_element(of_classes, of_classes + n_classes_);
        double total = 0.0;
        for (Index c = 0; c < n_classes_; ++c) total += std::exp(of_classes[c] - highest);
        return highest + std::log(total);
    }

 private:
    Index n_classes_;
    std::vector<double> terms_, highest_;
};

// Entries of the largest part of a CPT that is for one group of the parent's values.
Index largest_part(const OpenForest& forest) {
    Index largest = 0;
    for (Index i = 0; i < forest.n_features(); ++i) largest = std::max(largest, forest.card(i));
    return largest * forest.n_classes();
}

// Messages of all features, and the fits of single edges.
class Messages {
 public:
    explicit Messages(const OpenForest& forest)
        : forest_(forest),
          n_classes_(forest.n_classes()),
          log_sum_(largest_part(forest), n_classes_),
          first_(forest.start.begin(), forest.start.end()),
          told_(static_cast<std::size_t>(forest.n_features())),
          below_(static_cast<std::size_t>((first_.back() + 1) * n_classes_)),
          above_(below_.size()) {
        Index largest = 1, most_groups = 1;
        for (Index i = 0; i < forest.n_features(); ++i) {
            told_[i].assign(static_cast<std::size_t>(forest.n_groups(i) * n_classes_), 0.0);
            largest = std::max(largest, forest.n_lines(i) * n_classes_);
            most_groups = std::max(most_groups, forest.n_groups(i));
        }
        joint_.resize(static_cast<std::size_t>(largest));
        heard_.resize(static_cast<std::size_t>(most_groups * n_classes_));
        of_class_.resize(static_cast<std::size_t>(n_classes_));
        std::copy(forest.log_prior.begin(), forest.log_prior.end(), below(forest.n_features()));
        for (Index k = forest.order.size - 1; k >= 0; --k) tell(forest.order[k]);
    }

    // Fit each edge once; returns how far off the worst was.
    double sweep(View<const double> frequencies, const std::vector<double>& multipliers) {
        double worst = 0.0;
        path_.clear();
        for (const Index i : forest_.order) {
            for (; !path_.empty() && path_.back() != forest_.parent(i); path_.pop_back()) tell(path_.back());
            worst = std::max(worst, fit(i, frequencies.data + forest_.cpts.offset[i] / n_classes_, multipliers));
            path_.push_back(i);
        }
        for (; !path_.empty(); path_.pop_back()) tell(path_.back());
        return worst;
    }

    // Fill of_class [C] with the probabilities of the classes.
    void weigh_classes(std::vector<double>& of_class) {
        const double* log_prior = below(forest_.n_features());
        const double log_total = log_sum_(log_prior);
        for (Index c = 0; c < n_classes_; ++c) of_class[c] = std::exp(log_prior[c] - log_total);
    }

 private:
    // Lines of the values of a feature; those of no feature, which the class alone is above, are the last.
    double* below(Index i) { return below_.data() + first_[i] * n_classes_; }
    double* above(Index i) { return above_.data() + first_[i] * n_classes_; }

    // Tell the parent what the feature and those below it say of its values.
    void tell(Index i) {
        const Index n_values = forest_.card(i), j = forest_.parent(i);
        double* message = heard_.data();
        for (Index g = 0; g < forest_.n_groups(i); ++g)
            log_sum_(forest_.cpt(i) + g * n_values * n_classes_, below(i), n_values, message + g * n_classes_);
        for (Index x = 0; x < forest_.n_values(j); ++x) {
            const Index place = forest_.group_of(j, x) * n_classes_;
            for (Index c = 0; c < n_classes_; ++c)
                below(j)[x * n_classes_ + c] += message[place + c] - told_[i][place + c];
        }
        std::copy_n(message, told_[i].size(), told_[i].begin());
    }

    // Fill heard_ with what everything but the feature and those below it say of the groups of its parent's values.
    void hear(Index i) {
        const Index j = forest_.parent(i), n_groups = forest_.n_groups(i);
        const auto own = [&](Index x, Index c) {
            const Index k = x * n_classes_ + c;
            return above(j)[k] + below(j)[k] - told_[i][forest_.group_of(j, x) * n_classes_ + c];
        };
        for (Index c = 0; c < n_classes_; ++c) {
            double highest = -std::numeric_limits<double>::infinity();
            for (Index x = 0; x < forest_.n_values(j); ++x) highest = std::max(highest, own(x, c));
            for (Index g = 0; g < n_groups; ++g) heard_[g * n_classes_ + c] = 0.0;
            for (Index x = 0; x < forest_.n_values(j); ++x)
                heard_[forest_.group_of(j, x) * n_classes_ + c] += std::exp(own(x, c) - highest);
            for (Index g = 0; g < n_groups; ++g) {
                double& sum = heard_[g * n_classes_ + c];
                sum = std::log(std::max(sum, tiny)) + highest;
            }
        }
    }

    // Fill joint_ with the probabilities of a feature, its parent's group and the class, and of_class_ with those of
    // the classes; returns the logarithm of what they summed to before.
    double join(Index i) {
        const Index n_values = forest_.card(i), size = n_values * n_classes_, n_groups = forest_.n_groups(i);
        double highest = -std::numeric_limits<double>::infinity(), total = 0.0;
        for (Index g = 0; g < n_groups; ++g)
            for (Index x = 0; x < n_values; ++x)
                for (Index c = 0; c < n_classes_; ++c) {
                    const Index k = x * n_classes_ + c;
                    double& entry = joint_[g * size + k];
                    entry = heard_[g * n_classes_ + c] + forest_.cpt(i)[g * size + k] + below(i)[k];
                    highest = std::max(highest, entry);
                }
        for (Index k = 0; k < n_groups * size; ++k) joint_[k] = exp_or_zero(joint_[k] - highest);
        for (Index k = 0; k < n_groups * size; ++k) total += joint_[k];
        std::fill(of_class_.begin(), of_class_.end(), 0.0);
        for (Index line = 0; line < n_groups * n_values; ++line)
            for (Index c = 0; c < n_classes_; ++c) of_class_[c] += joint_[line * n_classes_ + c] /= total;
        return highest + std::log(total);
    }

    double fit(Index i, const double* frequencies, const std::vector<double>& multipliers) {
        const Index n_lines = forest_.n_lines(i), n_values = forest_.card(i);
        hear(i);
        const double log_total = join(i);
        goal_.resize(static_cast<std::size_t>(n_lines));
        double of_goals = 0.0;
        for (Index line = 0; line < n_lines; ++line) {
            double more = 0.0;
            for (Index c = 0; c < n_classes_; ++c)
                more += joint_[line * n_classes_ + c] * multipliers[c] / std::max(of_class_[c], tiny);
            of_goals += goal_[line] = std::max(frequencies[line] + more, least_share * frequencies[line]);
        }
        double* sums = above(i);
        std::fill_n(sums, n_values * n_classes_, 0.0);
        double off = 0.0;
        for (Index line = 0; line < n_lines; ++line) {
            double* entries = joint_.data() + line * n_classes_;
            double now = 0.0;
            for (Index c = 0; c < n_classes_; ++c) now += entries[c];
            const double goal = goal_[line] / of_goals, factor = goal / std::max(now, tiny);
            const double change = std::log(factor);
            off += std::abs(goal - now);
            for (Index c = 0; c < n_classes_; ++c) {
                forest_.cpt(i)[line * n_classes_ + c] += change;
                sums[line % n_values * n_classes_ + c] += entries[c] * factor;
            }
        }
        // The sum over the parent's groups is that of the joint, less what is below.
        for (Index k = 0; k < n_values * n_classes_; ++k)
            sums[k] = std::log(std::max(sums[k], tiny)) + log_total - below(i)[k];
        return off;
    }

    const OpenForest& forest_;
    Index n_classes_;
    LogSums log_sum_;
    std::vector<Index> first_;               // where the lines of each feature start
    std::vector<std::vector<double>> told_;  // to the groups of each feature's parent, [group, c]
    std::vector<double> below_, above_;      // [S + 1, C]
    std::vector<double> joint_, heard_, of_class_, goal_;
    std::vector<Index> path_;  // from a root to the feature that was fitted last
};

}  // namespace

void normalise_forest(const OpenForest& forest) {
    const Index n_classes = forest.n_classes();
    std::vector<double> sums;
    LogSums log_sum(largest_part(forest), n_classes);
    for (Index k = forest.n_features() - 1; k >= 0; --k) {
        const Index i = forest.order[k], j = forest.parent(i), n_groups = forest.n_groups(i);
        sums.resize(static_cast<std::size_t>(n_groups * n_classes));
        for (Index g = 0; g < n_groups; ++g) {
            double *lines = forest.cpt(i) + g * forest.card(i) * n_classes, *of_lines = sums.data() + g * n_classes;
            log_sum(lines, nullptr, forest.card(i), of_lines);
            for (Index x = 0; x < forest.card(i); ++x, lines += n_classes)
                for (Index c = 0; c < n_classes; ++c) lines[c] -= of_lines[c];
        }
        double* above = j == forest.n_features() ? forest.log_prior.data : forest.cpt(j);
        const Index n_lines = j == forest.n_features() ? 1 : forest.n_lines(j);
        for (Index line = 0; line < n_lines; ++line, above += n_classes) {
            const double* of_group = sums.data() + forest.group_of(j, line % forest.n_values(j)) * n_classes;
            for (Index c = 0; c < n_classes; ++c) above[c] += of_group[c];
        }
    }
    const double log_total = log_sum(forest.log_prior.data);
    for (double& each : forest.log_prior) each -= log_total;
}

void fill_frequencies(const Cpts& cpts, View<const double> counts, Index n_classes, double prior_rows,
                      View<double> given, View<double> joint) {
    std::vector<double> alone;
    for (Index i = 0; i < cpts.parent.size; ++i) {
        const Index n_values = cpts.cards[cpts.child[i]], n_groups = cpts.cards[cpts.parent[i]];
        const double* cells = counts.data + cpts.offset[i];
        const Index first = cpts.offset[i] / n_classes;
        double of_all = 0.0;
        alone.assign(static_cast<std::size_t>(n_values), 0.0);
        for (Index line = 0; line < n_groups * n_values; ++line) {
            double count = 0.0;
            for (Index c = 0; c < n_classes; ++c) count += cells[line * n_classes + c];
            given[first + line] = count;
            alone[line % n_values] += count;
            of_all += count;
        }
        for (double& each : alone) each = (each + 1.0) / (of_all + static_cast<double>(n_values));
        for (Index g = 0; g < n_groups; ++g) {
            double *own = given.data + first + g * n_values, *with_parent = joint.data + first + g * n_values;
            double of_group = 0.0;
            for (Index x = 0; x < n_values; ++x) of_group += own[x];
            const double share = (of_group + 1.0) / (of_all + static_cast<double>(n_groups));
            for (Index x = 0; x < n_values; ++x) {
                own[x] = (own[x] + prior_rows * alone[x]) / (of_group + prior_rows);
                with_parent[x] = own[x] * share;
            }
        }
    }
}

void settle(const OpenForest& forest, const SettlingGoal& goal) {
    const auto n_classes = static_cast<std::size_t>(forest.n_classes());
    Messages messages(forest);
    std::vector<double> multipliers(n_classes), of_class(n_classes), best;
    double least = std::numeric_limits<double>::infinity();
    for (Index sweep = 0, best_sweep = 0; sweep < goal.most_sweeps && sweep - best_sweep <= patience; ++sweep) {
        double off = messages.sweep(goal.frequencies, multipliers) / enough;
        messages.weigh_classes(of_class);
        for (Index c = 0; c < forest.n_classes(); ++c) {
            const double missing = goal.classes[c] - of_class[c];
            off = std::max(off, std::abs(missing) / std::max(goal.tolerance[c], tiny));
            multipliers[c] += step_of_multipliers * missing;
        }
        if (off < least) {
            least = off;
            best_sweep = sweep;
            best.assign(forest.theta.begin(), forest.theta.end());
        }
        if (off < 1.0) break;
    }
    std::copy(best.begin(), best.end(), forest.theta.begin());
}

}  // namespace tanager
