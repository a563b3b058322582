#include "arborescence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tanager {

namespace {

// Scores are kept above this, so that candidates that are never to be drawn (minus infinity) can be subtracted.
constexpr double least_score = -1e30;
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Search {
    View<const double> scores;
    View<const Index> ptr;
    View<const Index> parent;
    ForestScratch& nodes;

    Index n_features() const { return ptr.size - 1; }
    double score(Index candidate) const { return std::max(scores[candidate], least_score); }

    // The outermost node that the chosen edge of a node comes from, -1 for the root.
    Index source(Index node) const {
        const Index j = parent[nodes.edge[node]];
        return j == n_features() ? -1 : nodes.outermost[j];
    }

    // The best candidate of feature i that is not in the node, the first of equal ones; -1 if there is none.
    Index best_from_outside(Index node, Index i) const {
        Index chosen = -1;
        double best = -infinity;
        for (Index e = ptr[i]; e < ptr[i + 1]; ++e)
            if (score(e) > best && (parent[e] == n_features() || nodes.outermost[parent[e]] != node)) {
                chosen = e;
                best = score(e);
            }
        return chosen;
    }

    // Choose the best edge into a node that comes from outside it, the first of equal ones; -1 if there is none.
    void choose_edge(Index node) {
        double best = -infinity;
        for (Index i = nodes.first[node]; i >= 0; i = nodes.following[i]) {
            Index e = nodes.best[i];
            if (e >= 0 && parent[e] < n_features() && nodes.outermost[parent[e]] == node) {
                e = best_from_outside(node, i);
                nodes.best[i] = e;
            }
            if (e >= 0 && score(e) - nodes.deducted[i] > best) {
                best = score(e) - nodes.deducted[i];
                nodes.edge[node] = e;
                nodes.target[node] = i;
            }
        }
    }

    // Make the cycle through a node a new one: an edge into it is worth its gain over the edge that it replaces.
    void shrink(Index start, Index made) {
        Index node = start, last = -1;
        while (nodes.around[node] < 0) {
            const Index before = source(node);
            const double worth = score(nodes.edge[node]) - nodes.deducted[nodes.target[node]];
            for (Index i = nodes.first[node]; i >= 0; i = nodes.following[i]) nodes.deducted[i] += worth;
            nodes.around[node] = made;
            if (last < 0)
                nodes.first[made] = nodes.first[node];
            else
                nodes.following[last] = nodes.first[node];
            last = nodes.last[node];
            node = before;
        }
        nodes.last[made] = last;
        for (Index i = nodes.first[made]; i >= 0; i = nodes.following[i]) nodes.outermost[i] = made;
    }
};

void start_over(ForestScratch& nodes, Index n_features) {
    std::fill(nodes.around.begin(), nodes.around.end(), -1);
    std::fill(nodes.edge.begin(), nodes.edge.end(), -1);
    std::iota(nodes.target.begin(), nodes.target.end(), 0);
    std::iota(nodes.first.begin(), nodes.first.end(), 0);
    std::iota(nodes.last.begin(), nodes.last.end(), 0);
    std::fill(nodes.walk.begin(), nodes.walk.end(), -1);
    std::fill(nodes.following.begin(), nodes.following.end(), -1);
    std::iota(nodes.outermost.begin(), nodes.outermost.begin() + n_features, 0);
    std::fill(nodes.deducted.begin(), nodes.deducted.end(), 0.0);
}

// Number a walk through the forest: feature j descends from i if it enters from enters[i] to leaves[i] - 1.
void tour(View<const Index> parent, View<Index> selected, ForestScratch& scratch) {
    const Index n_features = selected.size;
    std::fill(scratch.child.begin(), scratch.child.end(), -1);
    for (Index i = 0; i < n_features; ++i) {
        const Index j = parent[selected[i]];
        scratch.sibling[i] = scratch.child[j];
        scratch.child[j] = i;
        scratch.enters[i] = n_features;
        scratch.leaves[i] = 0;
    }
    Index n_entered = 0, node = scratch.child[n_features];
    while (node >= 0 && node < n_features) {
        scratch.enters[node] = n_entered++;
        if (scratch.child[node] >= 0) {
            node = scratch.child[node];
            continue;
        }
        while (node < n_features) {
            scratch.leaves[node] = n_entered;
            if (scratch.sibling[node] >= 0) {
                node = scratch.sibling[node];
                break;
            }
            node = parent[selected[node]];
        }
    }
}

}  // namespace

ForestScratch::ForestScratch(Index n_features) {
    const auto n = static_cast<std::size_t>(n_features);
    for (auto* each : {&around, &edge, &target, &first, &last, &walk}) each->resize(2 * n);
    for (auto* each : {&following, &outermost, &best, &sibling, &enters, &leaves}) each->resize(n);
    child.resize(n + 1);
    deducted.resize(n);
}

Index best_forest(View<const double> scores, View<const Index> ptr, View<const Index> parent, View<Index> selected,
                  ForestScratch& scratch) {
    Search search{scores, ptr, parent, scratch};
    const Index n_features = search.n_features();
    start_over(scratch, n_features);
    for (Index i = 0; i < n_features; ++i) {
        scratch.best[i] = search.best_from_outside(i, i);
        scratch.edge[i] = scratch.best[i];
        if (scratch.edge[i] < 0) return i;
    }
    Index n_nodes = n_features;
    for (Index start = 0; start < n_features; ++start) {
        Index node = scratch.outermost[start];
        while (node >= 0 && scratch.walk[node] < 0) {
            scratch.walk[node] = start;
            node = search.source(node);
            if (node < 0 || scratch.walk[node] != start) continue;
            search.shrink(node, n_nodes);
            search.choose_edge(n_nodes);
            if (scratch.edge[n_nodes] < 0) return scratch.first[n_nodes];
            node = n_nodes++;
        }
    }
    // Of the edges of a shrunk cycle, the edge into it replaces one; later nodes are around earlier ones.
    for (Index node = n_nodes - 1; node >= n_features; --node) {
        Index inner = scratch.target[node];
        while (scratch.around[inner] != node) inner = scratch.around[inner];
        scratch.edge[inner] = scratch.edge[node];
        scratch.target[inner] = scratch.target[node];
    }
    std::copy_n(scratch.edge.begin(), n_features, selected.begin());
    return -1;
}

void grow_tree(Matrix<const double> weights, Index root, View<Index> parents) {
    const Index n_features = weights.rows;
    std::vector<double> best(weights.row(root), weights.row(root) + n_features);  // edge to each feature outside
    std::vector<Index> outside;
    for (Index i = 0; i < n_features; ++i) {
        parents[i] = i == root ? -1 : root;
        if (i != root) outside.push_back(i);
    }
    while (!outside.empty()) {
        const auto found =
            std::max_element(outside.begin(), outside.end(), [&](Index i, Index j) { return best[i] < best[j]; });
        const Index added = *found;
        outside.erase(found);
        const double* edge = weights.row(added);
        for (const Index i : outside)
            if (edge[i] > best[i] || (edge[i] == best[i] && added < parents[i])) {
                best[i] = edge[i];
                parents[i] = added;
            }
    }
}

void sample_forest(View<const double> phi, View<const double> noise, View<const Index> ptr, View<const Index> parent,
                   double tau, View<Index> selected, View<double> soft, ForestScratch& scratch) {
    for (Index e = 0; e < phi.size; ++e) soft[e] = phi[e] + noise[e];
    best_forest({soft.data, soft.size}, ptr, parent, selected, scratch);
    tour(parent, selected, scratch);
    const Index n_features = ptr.size - 1;
    for (Index i = 0; i < n_features; ++i) {
        const double highest = soft[selected[i]];
        double sum = 0.0;
        for (Index e = ptr[i]; e < ptr[i + 1]; ++e) {
            const Index j = parent[e];
            const bool descends =
                j < n_features && scratch.enters[i] <= scratch.enters[j] && scratch.enters[j] < scratch.leaves[i];
            soft[e] = descends ? 0.0 : std::exp((soft[e] - highest) / tau);
            sum += soft[e];
        }
        for (Index e = ptr[i]; e < ptr[i + 1]; ++e) soft[e] /= sum;
    }
}

}  // namespace tanager
