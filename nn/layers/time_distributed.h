#ifndef CAIRN_NN_LAYERS_TIME_DISTRIBUTED_H_
#define CAIRN_NN_LAYERS_TIME_DISTRIBUTED_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// TimeDistributed: applies a layer to each step of a sequence. In memory the steps of all examples
// are a batch of the inner layer, whose kernel therefore computes them.
class TimeDistributedLayer : public Layer {
 public:
  using LayerFactory = absl::FunctionRef<absl::StatusOr<std::unique_ptr<const Layer>>(
      const proto::LayerSpec& spec, std::vector<TensorSpec> inputs)>;
  // `create` creates the inner layer.
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config,
                                                             LayerFactory create);

  const Layer& inner() const { return *inner_; }
  int64_t steps() const { return output().shape[0]; }

  Activation activation() const override { return inner_->activation(); }
  bool is_view() const override { return inner_->is_view(); }
  bool passes_mask() const override { return true; }

 private:
  TimeDistributedLayer(Base base, TensorSpec output, std::unique_ptr<const Layer> inner)
      : Layer(std::move(base), std::move(output), inner->variables()), inner_(std::move(inner)) {}

  const std::unique_ptr<const Layer> inner_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_TIME_DISTRIBUTED_H_
