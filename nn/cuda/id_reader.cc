#include "nn/cuda/id_reader.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace cairn::nn::cuda {

IdReader::IdReader(const Layer& layer, int64_t examples, int64_t bound, const char* bound_name,
                   Context* context)
    : context_(context),
      layer_(layer),
      bound_(bound),
      bound_name_(bound_name),
      words_(examples * ElementCount(layer.inputs()[0].shape)),
      host_ids_(words_.size()),
      ids_(context, static_cast<int64_t>(words_.size())) {}

absl::Status IdReader::Read(const float* input) {
  absl::Status status =
      context_->copies().FromDevice(words_.data(), input, words_.size() * sizeof(float));
  if (!status.ok()) return status;
  const bool ids_are_floats = layer_.inputs()[0].type == proto::FLOAT32;
  for (size_t i = 0; i < words_.size(); ++i) {
    int32_t id;
    std::memcpy(&id, &words_[i], sizeof(id));
    const double number = ids_are_floats ? std::trunc(words_[i]) : id;
    if (!(number >= 0 && number < static_cast<double>(bound_))) {
      return absl::InvalidArgumentError(
          absl::StrCat("layer '", layer_.name(), "' (", layer_.class_name(), "): id ",
                       ids_are_floats ? absl::StrCat(words_[i]) : absl::StrCat(id),
                       " is not one of the ", bound_name_, " 0 to ", bound_ - 1));
    }
    host_ids_[i] = static_cast<int64_t>(number);
  }
  context_->Upload(ids_.data(), host_ids_);
  return absl::OkStatus();
}

}  // namespace cairn::nn::cuda
