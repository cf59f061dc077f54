#ifndef CAIRN_NN_INITIALIZER_H_
#define CAIRN_NN_INITIALIZER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "nn/initializer_spec.h"
#include "nn/variable_spec.h"

namespace cairn::nn {

// INVALID_ARGUMENT if the variable's initializer is not for its shape: Orthogonal wants two
// dimensions or more and at most 2^24 elements, Identity exactly two.
absl::Status CheckInitializer(const VariableSpec& variable);

// Writes the initial values of elements [begin, end) of `variable` (flat, row-major) to
// out[0, end - begin). A value is a pure function of (seed, the variable's name and shape, the
// element's index): however a variable is cut into slices, its parts are the same.
// 0 <= begin <= end <= variable.element_count(), and CheckInitializer(variable) is OK.
//
// An orthogonal variable is computed whole for every call, however short the slice: rows x columns
// doubles of memory and rows x columns x min(rows, columns) work. The others cost their elements.
void FillInitialValues(const VariableSpec& variable, uint64_t seed, int64_t begin, int64_t end,
                       float* out);

}  // namespace cairn::nn

#endif  // CAIRN_NN_INITIALIZER_H_
