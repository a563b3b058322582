// The most probable class of rows, in sums of 16-bit numbers.
//
// To find the class, the line of a CPT can be shifted as a whole and need not be exact. Here every line is stored as
// steps below its highest entry, in 16 bits each: half of what single precision has to move. Over every 16 slots a
// class has so many points, from which the steps of the lines are taken off; what is left is added up in 32 bits.
// Points that are used up stay at zero; the class then has more than it should, and cannot be told to be the best.
//
// Each of the S + 1 terms is wrong by at most half a step. So where the second best class is more than S + 1 steps
// behind, the best is the one that exact sums would give. The other rows are left open.
#pragma once

#include "lanes.h"
#include "row_block.h"

namespace tanager {

// Steps to a difference of one in log-probability. The most probable class is, in each slot, somewhat less probable
// than the best one of that slot: over 16 slots it was at most 86 below on the paper's data sets, and it has 96.
constexpr float steps_per_unit = 682.0f;
constexpr std::uint16_t all_points = 65535;

// Classes that points are taken from at once: as many as the processor has registers for, since gcc 12 cuts wider lanes
// up badly. Lines of twice as many are read whole where it has wider ones.
#ifdef __AVX2__
constexpr int lanes_of_points = 16;
#else
constexpr int lanes_of_points = 8;
#endif
#ifdef __AVX512BW__
constexpr int most_lanes_of_points = 32;
#else
constexpr int most_lanes_of_points = lanes_of_points;
#endif

// Entries of a shortened line: those of the classes, and zeros up to whole lanes.
inline Index short_width(Index n_classes) { return padded(n_classes, lanes_of_points); }

// Whether sums and places fit in 32 bits.
bool can_shorten(const Network& network);

// Whether they do, and so many rows gain more than shortening all lines takes.
bool pays_to_shorten(const Network& network, Index n_rows);

// Fill lines lo to hi of steps [L, W] from those of theta [L, C].
void shorten_lines(Index lo, Index hi, const float* theta, Index n_classes, Matrix<std::uint16_t> steps);

// Fill classes with the most probable one of those rows lo to hi that are open, and settle those where it is sure.
void settle_classes(Index lo, Index hi, const Network& network, Matrix<std::uint16_t> steps, const Codes& codes,
                    View<RowState> states, View<Index> classes);

}  // namespace tanager
