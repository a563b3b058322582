// Arrays as the kernels see them: a pointer and a length, nothing owned. Names and shapes are those of tanager._types.
#pragma once

#include <cstdint>

namespace tanager {

using Index = std::int64_t;

// A contiguous array.
template <class T>
struct View {
    T* data = nullptr;
    Index size = 0;

    T& operator[](Index i) const { return data[i]; }
    T* begin() const { return data; }
    T* end() const { return data + size; }
    View slice(Index first, Index last) const { return {data + first, last - first}; }
};

// A contiguous array of rows.
template <class T>
struct Matrix {
    T* data = nullptr;
    Index rows = 0;
    Index columns = 0;

    T* row(Index i) const { return data + i * columns; }
    T& operator()(Index i, Index j) const { return data[i * columns + j]; }
};

// Where each candidate's CPT lies in the arena, and how it is indexed (tanager._types.Cpts).
//
// Candidate e of slot s with child i lies at offset[e] .. offset[e + 1] and is read as [x_parent, x_i, c]. Parents are
// columns: the D features, then P pairs of features, and last a virtual one with the single value 0.
struct Cpts {
    View<const Index> child;   // [S]
    View<const Index> ptr;     // [S + 1]
    View<const Index> parent;  // [E]
    View<const Index> offset;  // [E + 1]
    View<const Index> cards;   // [D + P + 1]

    Index n_slots() const { return child.size; }
    Index n_columns() const { return cards.size - 1; }
    Index no_parent() const { return cards.size - 1; }
};

// Codes [N, D] in the unsigned or signed whole numbers that an encoder chose.
struct Codes {
    const void* data = nullptr;
    Index rows = 0;
    Index columns = 0;
    int width = 0;  // bytes of a code
    bool is_signed = false;

    // The largest number of their type; a negative one reads as a larger one.
    std::uint64_t largest() const { return ~std::uint64_t{0} >> (64 - 8 * width + (is_signed ? 1 : 0)); }
};

// Call a function with a pointer to the codes in their own type; a negative code reads as a very large one.
template <class Function>
decltype(auto) with_codes(const Codes& codes, Function&& function) {
    switch (codes.width) {
        case 1:
            return function(static_cast<const std::uint8_t*>(codes.data));
        case 2:
            return function(static_cast<const std::uint16_t*>(codes.data));
        case 4:
            return function(static_cast<const std::uint32_t*>(codes.data));
        default:
            return function(static_cast<const std::uint64_t*>(codes.data));
    }
}

}  // namespace tanager
