#include "nn/cuda/id_input.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn::cuda {

IdInput::IdInput(const Layer& layer, int64_t examples, int64_t bound, const char* bound_name,
                 Context* context)
    : context_(context),
      layer_(layer),
      bound_(bound),
      bound_name_(bound_name),
      are_floats_(layer.inputs()[0].type == proto::FLOAT32),
      count_(examples * ElementCount(layer.inputs()[0].shape)) {}

absl::Status IdInput::FindInvalid(const float* input) const {
  std::vector<float> words(count_);
  CAIRN_RETURN_IF_ERROR(context_->copies().FromDevice(words.data(), input, count_ * sizeof(float)));
  for (const float& word : words) {
    int32_t id;
    std::memcpy(&id, &word, sizeof(id));
    const double number = are_floats_ ? std::trunc(word) : id;
    if (number >= 0 && number < static_cast<double>(bound_)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("layer '", layer_.name(), "' (", layer_.class_name(), "): id ",
                     are_floats_ ? absl::StrCat(word) : absl::StrCat(id), " is not one of the ",
                     bound_name_, " 0 to ", bound_ - 1));
  }
  return absl::OkStatus();
}

}  // namespace cairn::nn::cuda
