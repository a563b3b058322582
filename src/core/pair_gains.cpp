// How much a table of each pair of columns would add to scores (see effects.h).
#include <algorithm>

#include "effects.h"
#include "lanes.h"
#include "sums.h"

namespace tanager {

namespace {

// Residuals and curvatures of each row side by side, in whole lanes.
struct Slopes {
    Index width, stride;
    std::vector<float> lines;  // [N, stride]: residuals [width], curvatures [width], zeros

    Slopes(Matrix<const float> residual, Matrix<const float> curvature)
        : width(residual.columns),
          stride(padded(2 * width, lanes_for(2 * width))),
          lines(static_cast<std::size_t>(residual.rows * stride)) {
        for (Index r = 0; r < residual.rows; ++r) {
            std::copy_n(residual.row(r), width, lines.data() + r * stride);
            std::copy_n(curvature.row(r), width, lines.data() + r * stride + width);
        }
    }
};

// Cells that sums are made for: whole lanes of them, since those without rows gain nothing.
Index padded_cells(Index n_cells) { return padded(n_cells, 8); }

double gain_of(const Slopes& slopes, const float* sums, Index n_cells, float ridge) {
    double gain = 0.0;
    for (Index c = 0; c < slopes.width; ++c)
        gain += sum<float>(padded_cells(n_cells), [&](Index cell) {
            const float g = sums[cell * slopes.stride + c], h = sums[cell * slopes.stride + slopes.width + c];
            return (g * g - h) / (h + ridge);
        });
    return gain / 2.0;
}

// Add the slopes of each row to those of its cell. Where they are one line of lanes, the compiler is told so.
template <int W, bool is_one_line, class Code>
void add_slopes(const Code* x_i, const Code* x_j, Index n_rows, Index card, const Slopes& slopes, float* sums) {
    const Index stride = is_one_line ? W : slopes.stride;
    const float* line = slopes.lines.data();
    for (Index r = 0; r < n_rows; ++r, line += stride) {
        float* of_cell = sums + (static_cast<Index>(x_i[r]) * card + static_cast<Index>(x_j[r])) * stride;
        for (Index c = 0; c < stride; c += W) store<W>(of_cell + c, load<W>(of_cell + c) + load<W>(line + c));
    }
}

template <int W, class Code>
void pair_gains_of(Index lo, Index hi, const Code* x, Index n_rows, View<const Index> cards, const Slopes& slopes,
                   double ridge, Matrix<double> gains) {
    const Index largest = *std::max_element(cards.begin(), cards.end());
    std::vector<float> sums(static_cast<std::size_t>(padded_cells(largest * largest) * slopes.stride));
    const auto add = slopes.stride == W ? add_slopes<W, true, Code> : add_slopes<W, false, Code>;
    for (Index i = lo; i < hi; ++i)
        for (Index j = 0; j < i; ++j) {
            const Index n_cells = cards[i] * cards[j];
            std::fill_n(sums.begin(), padded_cells(n_cells) * slopes.stride, 0.0f);
            add(x + i * n_rows, x + j * n_rows, n_rows, cards[j], slopes, sums.data());
            gains(i, j) = gain_of(slopes, sums.data(), n_cells, static_cast<float>(ridge));
            gains(j, i) = gains(i, j);
        }
}

}  // namespace

void pair_gains(Index lo, Index hi, const Codes& columns, View<const Index> cards, Matrix<const float> residual,
                Matrix<const float> curvature, double ridge, Matrix<double> gains) {
    const Slopes slopes(residual, curvature);
    with_codes(columns, [&](const auto* x) {
        with_lanes(lanes_for(2 * slopes.width),
                   [&](auto lanes) { pair_gains_of<lanes()>(lo, hi, x, residual.rows, cards, slopes, ridge, gains); });
    });
}

}  // namespace tanager
