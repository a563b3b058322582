// Bindings of moves.h.
//
// Searches ask for the score of one candidate at a time, out of a great many, so these calls check only the CPTs that
// they read.
#include <algorithm>
#include <memory>

#include "border.h"
#include "moves.h"

namespace tanager {

namespace {

// Rows and CPTs (tanager.model.moves.Terms), with every place that cpts name inside the arenas.
Terms terms_of(nb::handle object, const Cpts& cpts) {
    const auto parts = tuple_of(object, "terms", 6);
    const auto columns = matrix<const std::int32_t>(parts[2], "columns", cpts.cards.size);
    Index n_classes = 0;
    require(nb::try_cast<Index>(parts[5], n_classes) && n_classes >= 1, "n_classes must be a whole number from 1 on");
    const Terms terms{view<const float>(parts[0], "theta"),
                      view<const float>(parts[1], "own"),
                      columns,
                      view<const Index>(parts[3], "y", columns.columns),
                      view<const double>(parts[4], "weight", columns.columns),
                      n_classes};
    require(n_classes <= terms.theta.size, "n_classes is larger than theta");
    const Index end = cpts.offset[cpts.offset.size - 1], slack = padded(n_classes, 8);
    require(end >= 0 && terms.theta.size - slack >= end, "theta must end in a line of zeros");
    require(terms.own.size == terms.theta.size, "own must have as many entries as theta");
    require_below(terms.y, n_classes, "y");
    return terms;
}

Score score_of(nb::handle object) {
    const auto parts = tuple_of(object, "score", 2);
    Score score{};
    require(nb::try_cast<bool>(parts[0], score.is_margin), "is_margin must be true or false");
    require(nb::try_cast<double>(parts[1], score.gamma), "gamma must be a number");
    return score;
}

// A candidate is one of its slot's, and lies inside the arena.
void require_candidate(const Cpts& cpts, Index slot, Index candidate, Index n_classes) {
    require(slot >= 0 && slot < cpts.n_slots(), "slot must be one of the slots");
    require(
        candidate >= 0 && candidate < cpts.parent.size && cpts.ptr[slot] <= candidate && candidate < cpts.ptr[slot + 1],
        "candidate ", candidate, " is not one of slot ", slot);
    const Index child = cpts.child[slot], parent = cpts.parent[candidate];
    require(child >= 0 && child < cpts.n_columns(), "child must be one of the features");
    require(parent >= 0 && parent < cpts.cards.size, "parent must be one of the columns");
    const Index first = cpts.offset[candidate], last = cpts.offset[candidate + 1];
    require(cpts.cards[child] >= 1 && cpts.cards[parent] >= 1, "cards must be at least 1");
    require(first >= 0 && first <= last && last <= cpts.offset[cpts.offset.size - 1] &&
                last - first == cpt_size(cpts.cards[parent], cpts.cards[child], n_classes),
            "offset does not fit the sizes of the CPTs");
}

// One candidate of each slot.
template <class T>
View<T> selected_of(nb::handle object, const char* name, const Cpts& cpts) {
    const auto selected = view<T>(object, name, cpts.n_slots());
    for (Index s = 0; s < selected.size; ++s)
        require(cpts.ptr[s] <= selected[s] && selected[s] < cpts.ptr[s + 1], name, " holds ", selected[s],
                ", which is not a candidate of slot ", s);
    return selected;
}

template <class T>
Matrix<T> log_joint_of(nb::handle object, const char* name, const Terms& terms) {
    return matrix<T>(object, name, terms.y.size, line_width(terms.n_classes));
}

nb::object empty_log_joint(nb::handle prior, Index n_rows) {
    const auto values = view<const float>(prior, "prior");
    require(values.size >= 1, "prior must have at least one class");
    const Index width = line_width(values.size);
    require(n_rows >= 0 && cpt_size(n_rows, width, sizeof(float)) >= 0,
            "n_rows must be from 0 to what memory can hold");
    auto lines = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(n_rows * width));
    fill_with_prior(values, {lines.get(), n_rows, width});
    const std::size_t shape[2] = {static_cast<std::size_t>(n_rows), static_cast<std::size_t>(width)};
    nb::capsule owner(lines.get(), [](void* data) noexcept { delete[] static_cast<float*>(data); });
    return nb::ndarray<nb::numpy, float, nb::ndim<2>>(lines.release(), 2, shape, owner).cast();
}

void bind_scores(nb::module_& m) {
    m.def(
        "candidate_score",
        [](Index slot, Index candidate, nb::handle terms, nb::handle cpts, nb::handle base, nb::handle score) {
            const Cpts places = unchecked_cpts_of(cpts);
            const Terms of_rows = terms_of(terms, places);
            require_candidate(places, slot, candidate, of_rows.n_classes);
            const auto lines = log_joint_of<const float>(base, "base", of_rows);
            const Score kind = score_of(score);
            nb::gil_scoped_release release;
            return candidate_score(slot, candidate, of_rows, places, lines, kind);
        },
        nb::arg("slot"), nb::arg("candidate"), nb::arg("terms"), nb::arg("cpts"), nb::arg("base"), nb::arg("score"));
    m.def(
        "move_scores",
        [](Index lo, Index hi, nb::handle terms, nb::handle cpts, nb::handle selected, nb::handle log_joint,
           nb::handle score, nb::handle scores) {
            const Cpts unchecked = unchecked_cpts_of(cpts);
            const Terms of_rows = terms_of(terms, unchecked);
            const Cpts places = cpts_of(cpts, of_rows.n_classes);
            const auto lines = log_joint_of<const float>(log_joint, "log_joint", of_rows);
            const auto structure = selected_of<const Index>(selected, "selected", places);
            const Score kind = score_of(score);
            const auto out = view<double>(scores, "scores", places.parent.size);
            require_range(lo, hi, places.n_slots());
            nb::gil_scoped_release release;
            move_scores(lo, hi, of_rows, places, structure, lines, kind, out);
        },
        nb::arg("lo"), nb::arg("hi"), nb::arg("terms"), nb::arg("cpts"), nb::arg("selected"), nb::arg("log_joint"),
        nb::arg("score"), nb::arg("scores"));
    m.def(
        "anneal",
        [](nb::handle moves, nb::handle terms, nb::handle cpts, nb::handle selected, nb::handle log_joint,
           nb::handle score, nb::handle best, nb::handle scores) {
            const Cpts unchecked = unchecked_cpts_of(cpts);
            const Terms of_rows = terms_of(terms, unchecked);
            const Cpts places = cpts_of(cpts, of_rows.n_classes);
            const auto parts = tuple_of(moves, "moves", 3);
            const auto slot = view<const Index>(parts[0], "slot");
            const Annealing tried{slot, view<const Index>(parts[1], "candidate", slot.size),
                                  view<const double>(parts[2], "threshold", slot.size)};
            for (Index t = 0; t < slot.size; ++t)
                require_candidate(places, slot[t], tried.candidate[t], of_rows.n_classes);
            const Walk walk{selected_of<Index>(selected, "selected", places),
                            log_joint_of<float>(log_joint, "log_joint", of_rows),
                            view<Index>(best, "best", places.n_slots()), view<double>(scores, "scores", 2)};
            const Score kind = score_of(score);
            nb::gil_scoped_release release;
            anneal(tried, of_rows, places, kind, walk);
        },
        nb::arg("moves"), nb::arg("terms"), nb::arg("cpts"), nb::arg("selected"), nb::arg("log_joint"),
        nb::arg("score"), nb::arg("best"), nb::arg("scores"));
}

}  // namespace

void bind_moves(nb::module_& m) {
    m.def(
        "log_frequencies",
        [](Index lo, Index hi, nb::handle counts, nb::handle cpts, Index n_classes, double smoothing, double deducted,
           nb::handle theta) {
            require(n_classes >= 1, "n_classes must be at least 1");
            const Cpts places = cpts_of(cpts, n_classes);
            const Index size = places.offset[places.offset.size - 1];
            const auto values = view<const double>(counts, "counts", size);
            const auto out = view<float>(theta, "theta");
            require(out.size >= size, "theta must have at least ", size, " entries, not ", out.size);
            require_range(lo, hi, places.n_slots());
            nb::gil_scoped_release release;
            log_frequencies(lo, hi, values, places, n_classes, smoothing, deducted, out);
        },
        nb::arg("lo"), nb::arg("hi"), nb::arg("counts"), nb::arg("cpts"), nb::arg("n_classes"), nb::arg("smoothing"),
        nb::arg("deducted"), nb::arg("theta"));
    m.def("empty_log_joint", &empty_log_joint, nb::arg("prior"), nb::arg("n_rows"));
    m.def(
        "add_terms",
        [](Index slot, Index candidate, float sign, nb::handle terms, nb::handle cpts, nb::handle log_joint) {
            const Cpts places = unchecked_cpts_of(cpts);
            const Terms of_rows = terms_of(terms, places);
            require_candidate(places, slot, candidate, of_rows.n_classes);
            const auto lines = log_joint_of<float>(log_joint, "log_joint", of_rows);
            nb::gil_scoped_release release;
            add_terms(slot, candidate, sign, of_rows, places, lines);
        },
        nb::arg("slot"), nb::arg("candidate"), nb::arg("sign"), nb::arg("terms"), nb::arg("cpts"),
        nb::arg("log_joint"));
    m.def(
        "descends_from",
        [](Index feature, Index ancestor, nb::handle parent, nb::handle selected) {
            const auto parents = view<const Index>(parent, "parent");
            const auto structure = view<const Index>(selected, "selected");
            require(feature >= 0, "feature must not be negative");
            require_below(structure, parents.size, "selected");
            for (const Index e : structure) require(parents[e] >= 0, "parent must not be negative");
            return descends_from(feature, ancestor, parents, structure);
        },
        nb::arg("feature"), nb::arg("ancestor"), nb::arg("parent"), nb::arg("selected"));
    bind_scores(m);
}

}  // namespace tanager
