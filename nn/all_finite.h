#ifndef CAIRN_NN_ALL_FINITE_H_
#define CAIRN_NN_ALL_FINITE_H_

#include "absl/types/span.h"

namespace cairn::nn {

// Whether no value is NaN or infinite. One pass at memory speed.
bool AllFinite(absl::Span<const float> values);

}  // namespace cairn::nn

#endif  // CAIRN_NN_ALL_FINITE_H_
