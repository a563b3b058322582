#pragma once

#include "views.h"

namespace tanager {

// A sum in eight parts, so that it vectorises, always in the same order.
template <class Number = double, class Term>
Number sum(Index size, Term&& term) {
    Number parts[8] = {};
    Index k = 0;
    for (; k + 8 <= size; k += 8)
        for (Index p = 0; p < 8; ++p) parts[p] += term(k + p);
    for (; k < size; ++k) parts[0] += term(k);
    return ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
}

}  // namespace tanager
