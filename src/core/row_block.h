// Which lines of the CPTs rows read, for many rows at once.
//
// A slot of a network has one CPT [x_parents, x_child, c], a list of lines of C numbers. With the child's value x_i and
// the parents' x_a and x_b a row reads the line
//   start + x_a R_b R_i + x_b R_i + x_i,
// without the terms of parents that there are not. Rows are gathered in blocks and turned feature-major, so that this
// is computed for many rows by one instruction. Only rows whose values are all known enter a block: what they read lies
// within the CPTs, by the numbers of values.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "views.h"

namespace tanager {

using Line = std::uint32_t;   // number of a line among those of all CPTs
using Place = std::uint32_t;  // where a line starts: its number times the length of a line

// A place in the sum of the log-joint, with the features that say which line is read.
struct Slot {
    Line start;  // first line of the CPT
    std::uint32_t child;
    std::uint32_t first, second;  // parents
    Line by_first, by_second;     // lines from one value of a parent to the next; 0 where there is no such parent
};

// A classifier as prediction reads it.
struct Network {
    View<const float> theta;            // lines of C log-probabilities, and slack
    View<const double> prior;           // [C], and zeros up to whole lanes
    View<const Slot> slots;             // [S], at least one
    View<const std::uint32_t> highest;  // [D]: the highest code of each feature that is a value
    Index n_classes = 0;
    Index n_lines = 0;
};

// What is known of a row.
enum class RowState : std::uint8_t {
    incomplete,  // a value is unknown: one that its feature does not have
    open,        // all values are known
    settled,     // the class is
};

// Tell which of rows lo to hi are open and which are incomplete.
void mark_rows(Index lo, Index hi, const Network& network, const Codes& codes, View<RowState> states);

// Some of the rows of codes [N, D].
template <class Code>
class RowBlock {
 public:
    static constexpr Index most_rows = 64;
    static constexpr Index few_rows = 8;  // fewer than these are not worth turning

    // A block for so many rows, at least one, or for as many as are worth turning at a time.
    RowBlock(const Codes& codes, Index n_rows)
        : codes_(static_cast<const Code*>(codes.data)),
          n_features_(codes.columns),
          room_(std::min(n_rows, most_rows)),
          turned_(std::make_unique_for_overwrite<Code[]>(n_features_ * room_)) {}

    Index room() const { return room_; }  // rows that the block can have
    Index size() const { return size_; }
    Index row(Index n) const { return rows_[n]; }
    bool is_full() const { return size_ == room_; }
    void clear() { size_ = 0; }

    // Take up a row whose values are all known.
    void add(Index row) { rows_[size_++] = row; }

    // Turn the rows that were added, so that their lines can be found.
    void turn() {
        if (size_ < few_rows) return;
        Index n = 0;
        if constexpr (sizeof(Code) == 1 && std::endian::native == std::endian::little) {
            if (n_features_ >= 8)
                for (; n + 8 <= size_; n += 8) turn_bytes(n);
        }
        for (; n < size_; ++n) {
            const Code* __restrict x = codes_ + rows_[n] * n_features_;
            Code* __restrict out = turned_.get() + n;
            const Index room = room_, n_features = n_features_;
            for (Index i = 0; i < n_features; ++i) out[i * room] = x[i];
        }
    }

    // Fill places [K, room] with those of the lines that the rows read in some slots.
    void find_places(View<const Slot> slots, Index length, Place* places) const {
        const auto scale = static_cast<Place>(length);
        if (size_ < few_rows)
            for (Index n = 0; n < size_; ++n) find_places_of(codes_ + rows_[n] * n_features_, slots, scale, places + n);
        else
            for (Index k = 0; k < slots.size; ++k) find_places_in(slots[k], scale, places + k * room_);
    }

 private:
    // Fill the places of the lines that all rows read in one slot.
    void find_places_in(const Slot& slot, Place scale, Place* __restrict places) const {
        const Code* __restrict child = turned_.get() + slot.child * room_;
        const Code* __restrict first = turned_.get() + slot.first * room_;
        const Code* __restrict second = turned_.get() + slot.second * room_;
        const Line start = slot.start, by_first = slot.by_first, by_second = slot.by_second;
        if (by_first == 0)
            for (Index n = 0; n < size_; ++n) places[n] = (start + Line(child[n])) * scale;
        else if (by_second == 0)
            for (Index n = 0; n < size_; ++n) places[n] = (start + Line(child[n]) + Line(first[n]) * by_first) * scale;
        else
            for (Index n = 0; n < size_; ++n)
                places[n] = (start + Line(child[n]) + Line(first[n]) * by_first + Line(second[n]) * by_second) * scale;
    }

    // Fill every room-th of the places with those of the lines that one row reads.
    void find_places_of(const Code* x, View<const Slot> slots, Place scale, Place* places) const {
        for (const Slot& slot : slots) {
            Line line = slot.start + Line(x[slot.child]) + Line(x[slot.first]) * slot.by_first;
            if (slot.by_second != 0) line += Line(x[slot.second]) * slot.by_second;
            *places = line * scale;
            places += room_;
        }
    }

    // Turn eight rows of bytes, eight columns at a time, each of them one integer.
    void turn_bytes(Index n) {
        const Code* rows[8];
        for (Index k = 0; k < 8; ++k) rows[k] = codes_ + rows_[n + k] * n_features_;
        Code* __restrict out = turned_.get() + n;
        const Index room = room_, last = n_features_ - 8;
        for (Index first = 0; first < last + 8; first += 8) {
            const Index i = std::min(first, last);  // the last eight are whole, some of them turned once more
            std::uint64_t words[8];
            for (Index k = 0; k < 8; ++k) std::memcpy(&words[k], rows[k] + i, 8);
            swap_parts<1>(words, 0x00FF00FF00FF00FF);
            swap_parts<2>(words, 0x0000FFFF0000FFFF);
            swap_parts<4>(words, 0x00000000FFFFFFFF);
            for (Index k = 0; k < 8; ++k) std::memcpy(out + (i + k) * room, &words[k], 8);
        }
    }

    // Exchange the upper part of a word with the lower part of the one that is so many words on, within every group of
    // bytes that the mask tells.
    template <int distance>
    static void swap_parts(std::uint64_t (&words)[8], std::uint64_t mask) {
        for (int k = 0; k < 8; ++k) {
            if ((k & distance) != 0) continue;
            const std::uint64_t changed = ((words[k] >> (8 * distance)) ^ words[k + distance]) & mask;
            words[k] ^= changed << (8 * distance);
            words[k + distance] ^= changed;
        }
    }

    const Code* codes_;
    Index n_features_, room_, size_ = 0;
    Index rows_[most_rows];
    std::unique_ptr<Code[]> turned_;  // [D, room]
};

}  // namespace tanager
