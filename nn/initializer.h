#ifndef CAIRN_NN_INITIALIZER_H_
#define CAIRN_NN_INITIALIZER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "nn/initializer_spec.h"
#include "nn/variable_spec.h"

namespace cairn::nn {

// Checks that the variable's initializer supports its shape. INVALID_ARGUMENT if not: Orthogonal
// needs at least two dimensions and at most 2^24 elements, Identity exactly two dimensions.
absl::Status CheckInitializer(const VariableSpec& variable);

// Writes the initial values of elements [begin, end) of `variable` (flat, row-major) to out[0, end
// - begin). A value is a pure function of (seed, the variable's name and shape, the element's
// index), so the values do not depend on how a variable is partitioned. Requires 0 <= begin <= end
// <= variable.element_count() and CheckInitializer(variable) to be OK.
//
// Formulas: Glorot & Bengio 2010 (GlorotUniform, GlorotNormal), He et al. 2015 (HeUniform,
// HeNormal), LeCun et al. 1998 (LecunUniform, LecunNormal), Saxe et al. 2014 (Orthogonal), as in
// keras/src/initializers/random_initializers.py.
//
// Cost: proportional to end - begin. Orthogonal computes the whole variable in every call: rows x
// columns doubles of memory and rows x columns x min(rows, columns) operations.
void FillInitialValues(const VariableSpec& variable, uint64_t seed, int64_t begin, int64_t end,
                       float* out);

}  // namespace cairn::nn

#endif  // CAIRN_NN_INITIALIZER_H_
