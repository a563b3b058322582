// The log-joint of a row split over its features by the chain rule: log p(x_i | what came before, c).
//
// Features come in an order in which everything below a feature follows it at once (depth first). Where feature and
// parent are known the term is a CPT entry. A known feature below an unknown one gets what it adds to what the features
// before it told of its parent. An unknown feature adds nothing: its terms are zero up to the rounding of the CPTs.
#pragma once

#include "messages.h"

namespace tanager {

// Fill rows lo to hi of terms, each [D, C]; with the log prior they sum up to the log-joint.
//
// forest.order is depth first. If it is empty, terms that need an unknown value are zero.
void fill_chain_terms(Index lo, Index hi, const Forest& forest, const Codes& codes, Matrix<double> terms);

}  // namespace tanager
