// Symmetric positive definite matrices with few diagonals: their factors L D L^T, and solutions of linear equations.
//
// A vector has `width` numbers at each of n places, a whole number of lanes, and there is a matrix for each of them or
// one for all. An equation is a long chain in which every number waits for those before, so several are solved side by
// side, one in each lane.
#pragma once

#include <algorithm>
#include <vector>

#include "lanes.h"

namespace tanager {

class BandedMatrix {
 public:
    // A matrix of zeros with entries up to `band` places beside the diagonal; n_matrices is width or 1.
    BandedMatrix(Index size, Index band, Index width, Index n_matrices)
        : size_(size),
          band_(std::min(band, size - 1)),
          width_(width),
          n_matrices_(n_matrices),
          entries_(static_cast<std::size_t>(size * (band_ + 1) * n_matrices)) {}

    Index size() const { return size_; }
    Index band() const { return band_; }
    Index width() const { return width_; }
    Index n_matrices() const { return n_matrices_; }

    // The entry of matrix m in row i and column i - k; k = 0 is the diagonal.
    double& at(Index i, Index k, Index m) { return entries_[(i * (band_ + 1) + k) * n_matrices_ + m]; }

    // Replace the matrix by its factors: 1 / D on the diagonal, and L beside it.
    void factorise() {
        for (Index i = 0; i < size_; ++i) {
            const Index first = std::max(Index{0}, i - band_);
            for (Index j = first; j < i; ++j) {
                // at(i, i - j) holds A_ij; subtract the sum over l of L_il D_l L_jl, kept as L_il D_l until row i ends
                double* entry = &at(i, i - j, 0);
                for (Index l = std::max(first, j - band_); l < j; ++l) {
                    const double *left = &at(i, i - l, 0), *right = &at(j, j - l, 0);
                    for (Index m = 0; m < n_matrices_; ++m) entry[m] -= left[m] * right[m];
                }
            }
            double* diagonal = &at(i, 0, 0);
            for (Index j = first; j < i; ++j) {
                double *entry = &at(i, i - j, 0), *inverse = &at(j, 0, 0);
                for (Index m = 0; m < n_matrices_; ++m) {
                    const double scaled = entry[m] * inverse[m];
                    diagonal[m] -= entry[m] * scaled;
                    entry[m] = scaled;
                }
            }
            for (Index m = 0; m < n_matrices_; ++m) diagonal[m] = 1.0 / diagonal[m];
        }
    }

    // Solve for x [n, width] in place, with the factors; width must be a multiple of W.
    template <int W>
    void solve(double* x) const {
        for (Index c = 0; c < width_; c += W)
            if (n_matrices_ == 1)
                solve_lanes<W>(x + c, [&](const double* entry) { return DoubleLanes<W>{} + *entry; });
            else
                solve_lanes<W>(x + c, [&](const double* entry) { return load<W>(entry + c); });
    }

 private:
    template <int W, class Of>
    void solve_lanes(double* x, Of&& of) const {
        const Index width = width_, row = (band_ + 1) * n_matrices_;
        for (Index i = 1; i < size_; ++i) {
            const double* entry = entries_.data() + i * row;
            auto rest = load<W>(x + i * width);
            for (Index k = std::min(band_, i); k >= 1; --k)
                rest -= of(entry + k * n_matrices_) * load<W>(x + (i - k) * width);
            store<W>(x + i * width, rest);
        }
        for (Index i = size_ - 1; i >= 0; --i) {
            const double* entry = entries_.data() + i * row;
            auto rest = load<W>(x + i * width) * of(entry);
            const Index last = std::min(band_, size_ - 1 - i);
            for (Index k = last; k >= 1; --k)
                rest -= of(entry + k * (row + n_matrices_)) * load<W>(x + (i + k) * width);
            store<W>(x + i * width, rest);
        }
    }

    Index size_, band_, width_, n_matrices_;
    std::vector<double> entries_;  // [n, band + 1, n_matrices]
};

}  // namespace tanager
