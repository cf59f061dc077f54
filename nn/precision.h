#ifndef CAIRN_NN_PRECISION_H_
#define CAIRN_NN_PRECISION_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::nn {

// What a GPU rounds the inputs of matrix products and convolutions to. Their sums, and everything
// else, are float32. The CPU computes in float32 always.
enum class Precision {
  kFloat32,
  // NVIDIA's TF32: float32 with 10 bits of fraction.
  kTensorFloat32,
  // float32 with 7 bits of fraction.
  kBfloat16,
  // IEEE 754's binary16: 10 bits of fraction, from 2^-24 to 65504. The loss is scaled (Executor).
  kFloat16,
};

// The words of Job.precision: "float32", "tensorfloat32", and Keras's dtype policies
// "mixed_bfloat16" and "mixed_float16".
const std::vector<std::string>& PrecisionWords();
// Nothing if it is not one of the words.
std::optional<Precision> FindPrecision(std::string_view word);

}  // namespace cairn::nn

#endif  // CAIRN_NN_PRECISION_H_
