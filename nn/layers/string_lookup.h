#ifndef CAIRN_NN_LAYERS_STRING_LOOKUP_H_
#define CAIRN_NN_LAYERS_STRING_LOOKUP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// StringLookup: replaces texts by their indices in a vocabulary. Its input is an InputLayer of
// dtype string. The executor computes no text: the reader of the data looks each text up, so that
// the input has the indices already. `int` returns them, as floats; the other modes encode them as
// CategoryEncoding does.
class StringLookupLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  enum class Mode { kInt, kOneHot, kMultiHot, kCount };
  Mode mode() const { return mode_; }
  // If true, the index of all texts that are not in the vocabulary is 0, and those of its terms
  // start at 1. Otherwise other texts are errors.
  bool takes_unknown() const { return takes_unknown_; }
  const std::vector<std::string>& vocabulary() const { return vocabulary_; }
  // The number of indices.
  int64_t tokens() const { return static_cast<int64_t>(vocabulary_.size()) + takes_unknown_; }
  // The number of texts per vector of the output. 1 in mode kInt.
  int64_t group() const { return group_; }

 private:
  StringLookupLayer(Base base, TensorSpec output, std::vector<std::string> vocabulary,
                    bool takes_unknown, Mode mode, int64_t group)
      : Layer(std::move(base), std::move(output), {}),
        vocabulary_(std::move(vocabulary)),
        takes_unknown_(takes_unknown),
        mode_(mode),
        group_(group) {}

  const std::vector<std::string> vocabulary_;
  const bool takes_unknown_;
  const Mode mode_;
  const int64_t group_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_STRING_LOOKUP_H_
