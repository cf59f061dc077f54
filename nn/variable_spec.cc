#include "nn/variable_spec.h"

#include <functional>
#include <numeric>

namespace cairn::nn {

int64_t VariableSpec::element_count() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace cairn::nn
