// Several floats at a time, and exp and log that vectorise.
//
// The compiler vectorises long loops over whole CPTs by itself, but not the short ones over the classes of one line.
// Here a line is read in blocks of W floats, the lanes of one value. The last block of a line may run over into the
// next one: arrays that are read or written by lanes end in slack, and lanes beyond the last class meet zeros or are
// overwritten.
//
// exp and log are short polynomials that agree with the exact functions to 2e-7, relative for exp and
// absolute-or-relative for log. They are branch-free, so that loops around them vectorise.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>

#include "views.h"

namespace tanager {

template <int W>
struct LanesOf {
    typedef float type __attribute__((vector_size(W * sizeof(float))));
    // The same at any address. gcc 12 copies two floats by memcpy through an integer register.
    typedef float anywhere __attribute__((vector_size(W * sizeof(float)), aligned(alignof(float)), may_alias));
};
template <int W>
using Lanes = typename LanesOf<W>::type;

template <int W>
inline Lanes<W> load(const float* place) {
    return *reinterpret_cast<const typename LanesOf<W>::anywhere*>(place);
}

template <int W>
inline void store(float* place, Lanes<W> value) {
    *reinterpret_cast<typename LanesOf<W>::anywhere*>(place) = value;
}

// The same in double precision.
template <int W>
struct DoubleLanesOf {
    typedef double type __attribute__((vector_size(W * sizeof(double))));
};
template <int W>
using DoubleLanes = typename DoubleLanesOf<W>::type;

template <int W>
inline DoubleLanes<W> load(const double* place) {
    DoubleLanes<W> value;
    std::memcpy(&value, place, sizeof value);
    return value;
}

template <int W>
inline void store(double* place, DoubleLanes<W> value) {
    std::memcpy(place, &value, sizeof value);
}

// One half of the lanes.
template <int W>
inline Lanes<W / 2> half(Lanes<W> value, int which) {
    float parts[W];
    std::memcpy(parts, &value, sizeof parts);
    return load<W / 2>(parts + which * W / 2);
}

// Sum of the lanes, in one fixed order: halves are added until one number is left, which stays in registers.
template <int W>
inline float total(Lanes<W> value) {
    if constexpr (W == 2)
        return value[0] + value[1];
    else
        return total<W / 2>(half<W>(value, 0) + half<W>(value, 1));
}

// The highest lane.
template <int W>
inline float highest_of(Lanes<W> value) {
    if constexpr (W == 2) {
        return value[0] < value[1] ? value[1] : value[0];
    } else {
        const auto first = half<W>(value, 0), second = half<W>(value, 1);
        return highest_of<W / 2>(first < second ? second : first);
    }
}

// Lanes for so many classes: as few as hold them, and 8 at a time where there are more. (16 at a time cost four times
// as much with gcc 12 and AVX2, which has no registers for them.)
inline int lanes_for(Index n_classes) {
    if (n_classes <= 2) return 2;
    if (n_classes <= 4) return 4;
    return 8;
}

// Classes of a line that whole blocks of 8 lanes hold, and lanes for the rest: none, 2, 4 or 8. Where lines are read in
// no order, reading no more of them than needed saves lines of the cache.
struct LineParts {
    Index whole;
    int tail;

    explicit LineParts(Index n_classes) : whole(n_classes / 8 * 8) {
        const Index rest = n_classes - whole;
        tail = rest == 0 ? 0 : rest <= 2 ? 2 : rest <= 4 ? 4 : 8;
    }
};

// Ask for a line of the cache that will be read soon, without waiting for it.
inline void prefetch(const float* place) { __builtin_prefetch(place); }

inline Index padded(Index length, Index multiple) { return (length + multiple - 1) / multiple * multiple; }

// Call a function with the number of lanes as a constant.
template <class Function>
decltype(auto) with_lanes(int lanes, Function&& function) {
    switch (lanes) {
        case 2:
            return function(std::integral_constant<int, 2>{});
        case 4:
            return function(std::integral_constant<int, 4>{});
        default:
            return function(std::integral_constant<int, 8>{});
    }
}

// Call a function with constants: the lanes of a line's tail, and whether it has whole blocks.
template <class Function>
decltype(auto) with_parts(const LineParts& parts, Function&& function) {
    if (parts.tail == 0) return function(std::integral_constant<int, 0>{}, std::true_type{});
    return with_lanes(parts.tail, [&](auto tail) {
        return parts.whole > 0 ? function(tail, std::true_type{}) : function(tail, std::false_type{});
    });
}

// e^x for x clipped to [-87, 88], so that the result is a normal number.
//
// x = n log(2) + r with |r| <= log(2) / 2; log(2) is split in two so that n log(2) is subtracted exactly. The
// polynomial is (exp(r) - 1 - r) / r^2, fitted at Chebyshev nodes: relative error below 1.1e-8 before rounding.
inline float exp_of(float x) {
    constexpr float to_round = 12582912.0f;  // 1.5 * 2^23: adding and subtracting it rounds to a whole number
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    const float n = (x * 1.4426950408889634f + to_round) - to_round;
    const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    const float p =
        (((0.001393365249f * r + 0.008363181545f) * r + 0.0416664649f) * r + 0.1666657697f) * r + 0.5000000013f;
    const auto power = std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
    return (p * (r * r) + r + 1.0f) * power;
}

// The same in double precision, for x clipped to [-708, 709]: the polynomial is the Taylor series to r^13, whose rest
// is below 5e-18. The whole number is read from the last bits of the sum that rounds it, since only AVX-512 has an
// instruction that converts it.
inline double exp_of(double x) {
    constexpr double to_round = 6755399441055744.0;  // 1.5 * 2^52
    x = x < -708.0 ? -708.0 : x;
    x = x > 709.0 ? 709.0 : x;
    const double rounded = x * 1.4426950408889634 + to_round, n = rounded - to_round;
    const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    const auto power = std::bit_cast<double>((std::bit_cast<std::uint64_t>(rounded) + 1023) << 52);
    return (p * (r * r) + r + 1.0) * power;
}

// e^x, and nothing below e^-87.
inline float exp_or_zero(float x) { return x < -87.0f ? 0.0f : exp_of(x); }

// e^x, and nothing below e^-708.
inline double exp_or_zero(double x) { return x < -708.0 ? 0.0 : exp_of(x); }

// Natural logarithm of a positive normal number: x = 2^n m with m in [sqrt(1/2), sqrt(2)), log(m) = 2 artanh(s).
inline float log_of(float x) {
    const auto bits = std::bit_cast<std::int32_t>(x);
    const std::int32_t n = (bits - 0x3F3504F3) >> 23;
    const auto m = std::bit_cast<float>(bits - (n << 23));
    const float s = (m - 1.0f) / (m + 1.0f);
    const float s2 = s * s;
    const float p = ((2.0f / 9.0f * s2 + 2.0f / 7.0f) * s2 + 2.0f / 5.0f) * s2 + 2.0f / 3.0f;
    return static_cast<float>(n) * 0.6931471805599453f + s * (p * s2 + 2.0f);
}

}  // namespace tanager
