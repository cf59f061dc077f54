#include "nn/formats/layer_writers.h"

namespace cairn::nn {

std::vector<float> Columns(const std::vector<float>& values, int64_t width, int64_t begin,
                           int64_t end) {
  std::vector<float> result;
  for (size_t row = 0; row + width <= values.size(); row += width) {
    result.insert(result.end(), values.begin() + row + begin, values.begin() + row + end);
  }
  return result;
}

}  // namespace cairn::nn
