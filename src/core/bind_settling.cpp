// Bindings of settling.h.
#include <cmath>
#include <vector>

#include "border.h"
#include "settling.h"

namespace tanager {

namespace {

// CPTs with one candidate for each feature, whose parents are features, or all of them groups of features' values.
Cpts single_cpts_of(nb::handle object, Index n_classes) {
    const Cpts cpts = cpts_of(object, n_classes);
    const Index n_features = cpts.n_slots();
    require(cpts.parent.size == n_features, "cpts must have one candidate for each feature");
    require(cpts.n_columns() == n_features || cpts.n_columns() == 2 * n_features,
            "cpts must have columns of features, and of their groups where there are any");
    require(cpts.cards[cpts.no_parent()] == 1, "cards must end in the one value of no parent");
    for (Index i = 0; i < n_features; ++i)
        require(cpts.child[i] == i && cpts.ptr[i] == i, "cpts must have one candidate for each feature, in order");
    return cpts;
}

// A forest whose CPTs may be changed (tanager._types.OpenForest).
OpenForest open_forest_of(nb::handle object) {
    const auto parts = tuple_of(object, "forest", 6);
    const auto prior = view<double>(parts[1], "log_prior");
    require(prior.size >= 1, "log_prior must have at least one class");
    const Cpts cpts = single_cpts_of(parts[2], prior.size);
    const Index n_features = cpts.n_slots();
    const OpenForest forest{view<double>(parts[0], "theta", cpts.offset[n_features]),
                            prior,
                            cpts,
                            view<const Index>(parts[3], "order", n_features),
                            view<const Index>(parts[4], "group"),
                            view<const Index>(parts[5], "start", n_features + 1)};
    require_rising(forest.start, "start");
    require(forest.group.size == forest.start[n_features], "group must have as many entries as there are values");
    for (Index i = 0; i < n_features; ++i)
        require(forest.start[i + 1] - forest.start[i] == forest.card(i), "start does not fit the numbers of values");
    const bool has_groups = cpts.n_columns() != n_features;
    for (Index i = 0; i < n_features; ++i) {
        const Index j = forest.parent(i);
        require(j == n_features || has_groups == (cpts.parent[i] >= n_features),
                "parents must be features, or groups of their values where there are any");
        if (j < n_features)
            require_below(forest.group.slice(forest.start[j], forest.start[j + 1]), forest.n_groups(i), "group");
    }
    std::vector<bool> is_placed(static_cast<std::size_t>(n_features));
    std::vector<Index> path{n_features};
    for (const Index i : forest.order) {
        require(0 <= i && i < n_features && !is_placed[i], "order must have each feature once");
        while (!path.empty() && path.back() != forest.parent(i)) path.pop_back();
        require(!path.empty(), "order must be depth first");
        path.push_back(i);
        is_placed[i] = true;
    }
    return forest;
}

}  // namespace

void bind_settling(nb::module_& m) {
    m.def(
        "normalise_forest",
        [](nb::handle forest) {
            const OpenForest network = open_forest_of(forest);
            nb::gil_scoped_release release;
            normalise_forest(network);
        },
        nb::arg("forest"));
    m.def(
        "fill_frequencies",
        [](nb::handle cpts, nb::handle counts, Index n_classes, double prior_rows, nb::handle given, nb::handle joint) {
            require(n_classes >= 1, "n_classes must be at least 1");
            require(prior_rows > 0.0 && std::isfinite(prior_rows), "prior_rows must be above 0");
            const Cpts places = single_cpts_of(cpts, n_classes);
            const Index size = places.offset[places.n_slots()];
            const auto cells = view<const double>(counts, "counts", size);
            const auto of_values = view<double>(given, "given", size / n_classes);
            const auto of_pairs = view<double>(joint, "joint", size / n_classes);
            nb::gil_scoped_release release;
            fill_frequencies(places, cells, n_classes, prior_rows, of_values, of_pairs);
        },
        nb::arg("cpts"), nb::arg("counts"), nb::arg("n_classes"), nb::arg("prior_rows"), nb::arg("given"),
        nb::arg("joint"));
    m.def(
        "settle",
        [](nb::handle forest, nb::handle frequencies, nb::handle classes, nb::handle tolerance, Index most_sweeps) {
            const OpenForest network = open_forest_of(forest);
            require(0 <= most_sweeps && most_sweeps <= 1000, "most_sweeps must be from 0 to 1000");
            const SettlingGoal goal{
                view<const double>(frequencies, "frequencies", network.theta.size / network.n_classes()),
                view<const double>(classes, "classes", network.n_classes()),
                view<const double>(tolerance, "tolerance", network.n_classes()), most_sweeps};
            nb::gil_scoped_release release;
            settle(network, goal);
        },
        nb::arg("forest"), nb::arg("frequencies"), nb::arg("classes"), nb::arg("tolerance"), nb::arg("most_sweeps"));
}

}  // namespace tanager
