// Bindings of queries.h and chain_rule.h.
#include <initializer_list>
#include <vector>

#include "border.h"
#include "chain_rule.h"
#include "queries.h"

namespace tanager {

namespace {

// A network without cycles (tanager._types.Forest). An order, if there is one, has parents before their children.
Forest forest_of(nb::handle object) {
    const auto parts = tuple_of(object, "forest", 5);
    const auto prior = view<const double>(parts[1], "prior");
    require(prior.size >= 1, "prior must have at least one class");
    const Forest forest{view<const float>(parts[0], "theta"), prior, cpts_of(parts[2], prior.size),
                        view<const Index>(parts[3], "order"), view<const Index>(parts[4], "start")};
    const Cpts& cpts = forest.cpts;
    const Index n_features = cpts.n_columns();
    require(cpts.n_slots() == n_features && cpts.parent.size == n_features,
            "cpts must have one candidate for each feature");
    require(cpts.cards[cpts.no_parent()] == 1, "cards must end in the one value of no parent");
    require(forest.start.size == n_features + 1 && forest.start[0] == 0, "start must have ", n_features + 1,
            " entries from 0 on");
    for (Index i = 0; i < n_features; ++i) {
        require(cpts.child[i] == i && cpts.ptr[i] == i, "cpts must have one candidate for each feature, in order");
        require(forest.start[i + 1] > forest.start[i] && forest.start[i + 1] - forest.start[i] == forest.card(i),
                "start does not fit the numbers of values");
    }
    require(forest.theta.size >= cpts.offset[n_features], "theta must have at least ", cpts.offset[n_features],
            " entries, not ", forest.theta.size);
    if (forest.order.size == 0) return forest;
    require(forest.order.size == n_features, "order must have all features or none");
    std::vector<bool> is_placed(n_features + 1);
    is_placed[n_features] = true;
    for (const Index i : forest.order) {
        require(0 <= i && i < n_features && !is_placed[i], "order must have each feature once");
        require(is_placed[forest.parent(i)], "order must have parents before their children");
        is_placed[i] = true;
    }
    return forest;
}

// A forest whose values can be summed out.
Forest ordered_forest_of(nb::handle object) {
    const Forest forest = forest_of(object);
    require(forest.order.size == forest.n_features(), "order must have all features");
    return forest;
}

// All that is below a feature follows it at once.
void require_depth_first(const Forest& forest) {
    std::vector<Index> path{forest.n_features()};
    for (const Index i : forest.order) {
        while (!path.empty() && path.back() != forest.parent(i)) path.pop_back();
        require(!path.empty(), "order must be depth first");
        path.push_back(i);
    }
}

// Classes of the rows that are asked about, -1 where a class was not observed.
View<const Index> classes_of(nb::handle object, Index n_rows, Index n_classes) {
    const auto classes = view<const Index>(object, "classes", n_rows);
    for (const Index c : classes)
        require(-1 <= c && c < n_classes, "classes holds ", c, ", which is outside -1 to ", n_classes - 1);
    return classes;
}

// A path along the parents from a feature upwards.
View<const Index> path_of(nb::handle object, const char* name, const Forest& forest) {
    const auto path = view<const Index>(object, name);
    require(path.size >= 1, name, " must have at least one feature");
    require_below(path, forest.n_features(), name);
    for (Index k = 0; k + 1 < path.size; ++k)
        require(forest.parent(path[k]) == path[k + 1], name, " must lead from each feature to its parent");
    return path;
}

// An array of rows that are arrays of a given shape themselves, which kernels fill.
Matrix<double> rows_of(nb::handle object, const char* name, Index n_rows, std::initializer_list<Index> shape) {
    const auto array = array_of<double>(object, name, static_cast<Index>(shape.size()) + 1);
    bool fits = static_cast<Index>(array.shape(0)) == n_rows;
    Index size = 1;
    std::size_t d = 1;
    for (const Index length : shape) {
        fits = fits && static_cast<Index>(array.shape(d++)) == length;
        size *= length;
    }
    require(fits, name, " has the wrong shape");
    return {static_cast<double*>(array.data()), n_rows, size};
}

}  // namespace

void bind_queries(nb::module_& m) {
    m.def(
        "marginal_log_joint",
        [](nb::handle rows, nb::handle forest, nb::handle codes, nb::handle log_joint) {
            const Forest network = forest_of(forest);
            const Codes x = codes_of(codes, "codes", network.n_features());
            const auto numbers = view<const Index>(rows, "rows");
            const auto out = matrix<double>(log_joint, "log_joint", x.rows, network.n_classes());
            require_below(numbers, x.rows, "rows");
            nb::gil_scoped_release release;
            marginal_log_joint(numbers, network, x, out);
        },
        nb::arg("rows"), nb::arg("forest"), nb::arg("codes"), nb::arg("log_joint"));
    m.def(
        "fill_chain_terms",
        [](Index lo, Index hi, nb::handle forest, nb::handle codes, nb::handle terms) {
            const Forest network = forest_of(forest);
            const Codes x = codes_of(codes, "codes", network.n_features());
            const auto out = rows_of(terms, "terms", x.rows, {network.n_features(), network.n_classes()});
            require_range(lo, hi, x.rows);
            require_depth_first(network);
            nb::gil_scoped_release release;
            fill_chain_terms(lo, hi, network, x, out);
        },
        nb::arg("lo"), nb::arg("hi"), nb::arg("forest"), nb::arg("codes"), nb::arg("terms"));
    m.def(
        "fill_marginals",
        [](Index lo, Index hi, nb::handle forest, nb::handle codes, nb::handle classes, nb::handle class_probabilities,
           nb::handle feature_probabilities) {
            const Forest network = ordered_forest_of(forest);
            const Codes x = codes_of(codes, "codes", network.n_features());
            const auto known_classes = classes_of(classes, x.rows, network.n_classes());
            const auto of_classes =
                matrix<double>(class_probabilities, "class_probabilities", x.rows, network.n_classes());
            const auto of_features =
                matrix<double>(feature_probabilities, "feature_probabilities", x.rows, network.n_values());
            require_range(lo, hi, x.rows);
            nb::gil_scoped_release release;
            fill_marginals(lo, hi, network, x, known_classes, of_classes, of_features);
        },
        nb::arg("lo"), nb::arg("hi"), nb::arg("forest"), nb::arg("codes"), nb::arg("classes"),
        nb::arg("class_probabilities"), nb::arg("feature_probabilities"));
    m.def(
        "fill_class_joint",
        [](Index lo, Index hi, nb::handle forest, nb::handle codes, nb::handle classes, Index feature, nb::handle out) {
            const Forest network = ordered_forest_of(forest);
            const Codes x = codes_of(codes, "codes", network.n_features());
            const auto known_classes = classes_of(classes, x.rows, network.n_classes());
            require(0 <= feature && feature < network.n_features(), "feature must be one of the features");
            const auto joint = rows_of(out, "out", x.rows, {network.card(feature), network.n_classes()});
            require_range(lo, hi, x.rows);
            nb::gil_scoped_release release;
            fill_class_joint(lo, hi, network, x, known_classes, feature, joint);
        },
        nb::arg("lo"), nb::arg("hi"), nb::arg("forest"), nb::arg("codes"), nb::arg("classes"), nb::arg("feature"),
        nb::arg("out"));
    m.def(
        "fill_pair_joint",
        [](Index lo, Index hi, nb::handle forest, nb::handle codes, nb::handle classes, nb::handle first_path,
           nb::handle second_path, nb::handle out) {
            const Forest network = ordered_forest_of(forest);
            const Codes x = codes_of(codes, "codes", network.n_features());
            const auto known_classes = classes_of(classes, x.rows, network.n_classes());
            const auto from_a = path_of(first_path, "first_path", network);
            const auto from_b = path_of(second_path, "second_path", network);
            const Index top_a = from_a[from_a.size - 1], top_b = from_b[from_b.size - 1];
            const Index none = network.cpts.no_parent();
            require(top_a == top_b || (network.parent(top_a) == none && network.parent(top_b) == none),
                    "first_path and second_path must meet or end in roots");
            const auto joint =
                rows_of(out, "out", x.rows, {network.card(from_a[0]), network.card(from_b[0]), network.n_classes()});
            require_range(lo, hi, x.rows);
            nb::gil_scoped_release release;
            fill_pair_joint(lo, hi, network, x, known_classes, from_a, from_b, joint);
        },
        nb::arg("lo"), nb::arg("hi"), nb::arg("forest"), nb::arg("codes"), nb::arg("classes"), nb::arg("first_path"),
        nb::arg("second_path"), nb::arg("out"));
    m.def(
        "complete_most_probably",
        [](Index lo, Index hi, nb::handle forest, nb::handle codes, nb::handle classes, nb::handle full_codes,
           nb::handle full_classes, nb::handle log_probability) {
            const Forest network = ordered_forest_of(forest);
            const Codes x = codes_of(codes, "codes", network.n_features());
            const auto known_classes = classes_of(classes, x.rows, network.n_classes());
            const auto out_codes = matrix<Index>(full_codes, "full_codes", x.rows, x.columns);
            const auto out_classes = view<Index>(full_classes, "full_classes", x.rows);
            const auto out = view<double>(log_probability, "log_probability", x.rows);
            require_range(lo, hi, x.rows);
            nb::gil_scoped_release release;
            complete_most_probably(lo, hi, network, x, known_classes, out_codes, out_classes, out);
        },
        nb::arg("lo"), nb::arg("hi"), nb::arg("forest"), nb::arg("codes"), nb::arg("classes"), nb::arg("full_codes"),
        nb::arg("full_classes"), nb::arg("log_probability"));
    m.def(
        "draw_completions",
        [](Index lo, Index hi, nb::handle forest, nb::handle codes, nb::handle classes, nb::handle uniform,
           nb::handle drawn_codes, nb::handle drawn_classes) {
            const Forest network = ordered_forest_of(forest);
            const Codes x = codes_of(codes, "codes", network.n_features());
            const auto known_classes = classes_of(classes, x.rows, network.n_classes());
            const auto shares = matrix<const double>(uniform, "uniform", -1, network.n_features() + 1);
            require(x.rows == 1 || x.rows == shares.rows, "codes must have one row or as many as uniform");
            const auto out_codes = matrix<Index>(drawn_codes, "drawn_codes", shares.rows, x.columns);
            const auto out_classes = view<Index>(drawn_classes, "drawn_classes", shares.rows);
            require_range(lo, hi, shares.rows);
            nb::gil_scoped_release release;
            draw_completions(lo, hi, network, x, known_classes, shares, out_codes, out_classes);
        },
        nb::arg("lo"), nb::arg("hi"), nb::arg("forest"), nb::arg("codes"), nb::arg("classes"), nb::arg("uniform"),
        nb::arg("drawn_codes"), nb::arg("drawn_classes"));
}

}  // namespace tanager
