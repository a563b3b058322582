// The border between Python and the kernels: every array is checked here, and nowhere else.
//
// A binding names its arguments, so that an error says which one is wrong. Behind the border nothing throws, nothing
// allocates inside a loop over rows without need, and no index is out of range.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <sstream>
#include <string>

#include "views.h"

namespace tanager {

namespace nb = nanobind;

[[noreturn]] inline void refuse(const std::string& what) { throw nb::value_error(what.c_str()); }

// Refuse what is not right; the message is put together from its parts only then, since checks run for every entry.
template <class... Parts>
void require(bool is_right, const Parts&... parts) {
    if (is_right) [[likely]]
        return;
    std::ostringstream message;
    (message << ... << parts);
    refuse(message.str());
}

using ReadableArray = nb::ndarray<nb::ro, nb::device::cpu>;
using WritableArray = nb::ndarray<nb::device::cpu>;

// An array of numbers of type T, which kernels may write to unless T is const.
template <class T>
auto array_of(nb::handle object, const char* name, Index dimensions) {
    using Array = std::conditional_t<std::is_const_v<T>, ReadableArray, WritableArray>;
    Array array;
    if (!nb::try_cast<Array>(object, array, false))
        refuse(std::string(name) +
               (std::is_const_v<T> ? " must be an array" : " must be an array that can be written to"));
    using Value = std::remove_const_t<T>;
    require(array.dtype() == nb::dtype<Value>(), name, " has the wrong type of numbers");
    require(static_cast<Index>(array.ndim()) == dimensions, name, " must have ", dimensions, " dimension(s)");
    Index stride = 1;
    for (Index d = dimensions - 1; d >= 0 && array.size() > 0; --d) {
        const auto at = static_cast<std::size_t>(d);
        require(array.shape(at) <= 1 || array.stride(at) == stride, name, " must be C-contiguous");
        stride *= static_cast<Index>(array.shape(at));
    }
    require(reinterpret_cast<std::uintptr_t>(array.data()) % alignof(Value) == 0, name, " must be aligned");
    return array;
}

// A one-dimensional array of numbers of type T; of a given length unless that is negative.
template <class T>
View<T> view(nb::handle object, const char* name, Index size = -1) {
    const auto array = array_of<T>(object, name, 1);
    const auto length = static_cast<Index>(array.shape(0));
    require(size < 0 || length == size, name, " must have ", size, " entries, not ", length);
    return {static_cast<T*>(array.data()), length};
}

// A two-dimensional array of numbers of type T; of given sizes unless they are negative.
template <class T>
Matrix<T> matrix(nb::handle object, const char* name, Index rows = -1, Index columns = -1) {
    const auto array = array_of<T>(object, name, 2);
    const auto n_rows = static_cast<Index>(array.shape(0)), n_columns = static_cast<Index>(array.shape(1));
    require((rows < 0 || n_rows == rows) && (columns < 0 || n_columns == columns), name, " has the wrong shape (",
            n_rows, ", ", n_columns, ")");
    return {static_cast<T*>(array.data()), n_rows, n_columns};
}

// Codes of rows in any whole-number type.
inline Codes codes_of(nb::handle object, const char* name, Index columns = -1) {
    ReadableArray array;
    if (!nb::try_cast<ReadableArray>(object, array, false)) refuse(std::string(name) + " must be an array");
    const auto kind = static_cast<nb::dlpack::dtype_code>(array.dtype().code);
    require(kind == nb::dlpack::dtype_code::Int || kind == nb::dlpack::dtype_code::UInt, name,
            " must hold whole numbers");
    require(array.ndim() == 2, name, " must have 2 dimensions");
    const auto n_rows = static_cast<Index>(array.shape(0)), n_columns = static_cast<Index>(array.shape(1));
    const bool is_contiguous =
        (n_columns <= 1 || array.stride(1) == 1) && (n_rows <= 1 || array.stride(0) == n_columns);
    require(is_contiguous || array.size() == 0, name, " must be C-contiguous");
    require(columns < 0 || n_columns == columns, name, " must have ", columns, " columns, not ", n_columns);
    const int width = array.dtype().bits / 8;
    require(width == 1 || width == 2 || width == 4 || width == 8, name, " must have up to 64 bits a number");
    require(reinterpret_cast<std::uintptr_t>(array.data()) % static_cast<std::uintptr_t>(width) == 0, name,
            " must be aligned");
    return {array.data(), n_rows, n_columns, width, kind == nb::dlpack::dtype_code::Int};
}

// All entries are from 0 to below a limit.
inline void require_below(View<const Index> entries, Index limit, const char* name) {
    Index n_wrong = 0;  // a loop that vectorises, since some calls are as short as this check
    for (const Index entry : entries) n_wrong += (entry < 0) | (entry >= limit);
    if (n_wrong == 0) return;
    for (const Index entry : entries)
        require(entry >= 0 && entry < limit, name, " holds ", entry, ", which is outside 0 to ", limit - 1);
}

// Entries rise from 0, never falling.
inline void require_rising(View<const Index> entries, const char* name) {
    require(entries.size > 0 && entries[0] == 0, name, " must start at 0");
    for (Index k = 1; k < entries.size; ++k) require(entries[k] >= entries[k - 1], name, " must not fall");
}

// The fields of a NamedTuple.
inline nb::tuple tuple_of(nb::handle object, const char* name, std::size_t size) {
    require(nb::isinstance<nb::tuple>(object), name, " must be a tuple");
    const auto parts = nb::borrow<nb::tuple>(object);
    require(parts.size() == size, name, " must have ", size, " fields, not ", parts.size());
    return parts;
}

// The number of entries of a CPT; -1 where it is beyond what an array can have.
inline Index cpt_size(Index card_parent, Index card, Index n_classes) {
    constexpr Index most = Index{1} << 40;  // more than memory can hold
    Index size = 0;
    const bool is_beyond =
        __builtin_mul_overflow(card_parent, card, &size) || __builtin_mul_overflow(size, n_classes, &size);
    return is_beyond || size > most ? -1 : size;
}

// The arrays of tanager._types.Cpts, of lengths that fit together; their entries are not checked.
inline Cpts unchecked_cpts_of(nb::handle object) {
    const auto parts = tuple_of(object, "cpts", 5);
    Cpts cpts{view<const Index>(parts[0], "child"), view<const Index>(parts[1], "ptr"),
              view<const Index>(parts[2], "parent"), view<const Index>(parts[3], "offset"),
              view<const Index>(parts[4], "cards")};
    require(cpts.ptr.size == cpts.child.size + 1 && cpts.offset.size == cpts.parent.size + 1 && cpts.cards.size >= 1,
            "the arrays of cpts do not fit together");
    return cpts;
}

// The places of CPTs (tanager._types.Cpts), with every place they name inside an arena of offset[E] entries.
inline Cpts cpts_of(nb::handle object, Index n_classes) {
    const Cpts cpts = unchecked_cpts_of(object);
    const Index n_candidates = cpts.parent.size;
    require_rising(cpts.ptr, "ptr");
    require_rising(cpts.offset, "offset");
    require(cpts.ptr[cpts.ptr.size - 1] == n_candidates, "ptr must end at the number of candidates");
    require_below(cpts.child, cpts.n_columns(), "child");
    require_below(cpts.parent, cpts.cards.size, "parent");
    for (const Index card : cpts.cards) require(card >= 1, "cards must be at least 1");
    for (Index s = 0; s < cpts.n_slots(); ++s)
        for (Index e = cpts.ptr[s]; e < cpts.ptr[s + 1]; ++e)
            require(cpts.offset[e + 1] - cpts.offset[e] ==
                        cpt_size(cpts.cards[cpts.parent[e]], cpts.cards[cpts.child[s]], n_classes),
                    "offset does not fit the sizes of the CPTs");
    return cpts;
}

// The only call of an object that runs, for as long as this lives; others are refused, since the interpreter lock,
// which keeps threads apart, is not held by a call that computes.
class OnlyCall {
 public:
    OnlyCall(bool& is_running, const char* name) : is_running_(is_running) {
        require(!is_running, name, " must not be called by what it calls, or twice at a time");
        is_running_ = true;
    }
    ~OnlyCall() { is_running_ = false; }
    OnlyCall(const OnlyCall&) = delete;
    OnlyCall& operator=(const OnlyCall&) = delete;

 private:
    bool& is_running_;
};

// A range of items that a thread works on.
inline void require_range(Index lo, Index hi, Index size) {
    require(0 <= lo && lo <= hi && hi <= size, "the range ", lo, " to ", hi, " is not within ", size, " items");
}

}  // namespace tanager
