// Codes of pairs of features beside those of the features: the pair (a, b) has the code x_a R_b + x_b.
#pragma once

#include "views.h"

namespace tanager {

// Numbers [N, D + P] to be filled, of any whole-number type.
struct WideCodes {
    void* data = nullptr;
    int width = 0;  // bytes of a code
};

// Fill rows lo to hi of wide with the codes of the features and of the P pairs.
//
// What is not a value of its feature is unknown and becomes the number of values; a pair of which one is unknown is.
void widen_codes(Index lo, Index hi, const Codes& codes, Matrix<const Index> pairs, View<const Index> cards,
                 const WideCodes& wide);

}  // namespace tanager
