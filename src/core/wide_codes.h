// Codes of more columns beside those of the features: of pairs of features, where (a, b) has the code x_a R_b + x_b,
// and of the groups that values are put together in.
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

// Groups of the values of D features: those of feature i are of_value[start[i] .. start[i + 1]].
struct Groups {
    View<const Index> of_value;
    View<const Index> start;  // [D + 1]
    View<const Index> cards;  // [D]: numbers of groups
};

// Fill rows lo to hi of wide [N, 2 D] with the codes of the features and of the groups of their values; what is not a
// value of its feature becomes the number of values, and that of groups.
void group_codes(Index lo, Index hi, const Codes& codes, const Groups& groups, const WideCodes& wide);

}  // namespace tanager
