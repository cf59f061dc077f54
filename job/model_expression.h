#ifndef CAIRN_JOB_MODEL_EXPRESSION_H_
#define CAIRN_JOB_MODEL_EXPRESSION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::job {

// What a loss of an objective is computed of (ModelLoss.of): calls of models on the batch's data
// and on noise.
//
//   expression = "data" | "noise" "(" size [ "," stream ] ")" | MODEL "(" expression { "," ... }
//   ")"
//
// The same text means the same tensor wherever it occurs in the job.
struct ModelExpression {
  enum class Kind {
    kData,   // The features of the batch.
    kNoise,  // A vector of `size` standard normal numbers for each example.
    kCall,   // The output of `model` for `arguments`.
  };

  Kind kind = Kind::kData;
  // Without spaces: "discriminator(generator(noise(100)))".
  std::string text;
  std::string model;
  std::vector<ModelExpression> arguments;
  int64_t size = 0;
  // Noise of different streams is independent. Default 0.
  int64_t stream = 0;
};

// The largest size of a noise vector.
inline constexpr int64_t kNoiseSizeMax = 1 << 20;

// InvalidArgument says what is wrong and at which character.
absl::StatusOr<ModelExpression> ParseModelExpression(std::string_view text);

// True if a model may have this name: a letter or _, then letters, digits and _, at most 64; not
// "data", "noise" or "labels".
bool IsModelName(std::string_view name);

}  // namespace cairn::job

#endif  // CAIRN_JOB_MODEL_EXPRESSION_H_
