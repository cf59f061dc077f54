#include <algorithm>

#include "nn/cpu/id_reader.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/string_lookup.h"

namespace cairn::nn {
namespace {

// The input has the indices already.
class StringLookupKernel : public Kernel {
 public:
  StringLookupKernel(const StringLookupLayer& layer, const KernelContext& context)
      : layer_(layer),
        ids_(context.options.examples * ElementCount(layer.inputs()[0].shape)),
        reader_(layer, layer.tokens(), "indices") {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    using Mode = StringLookupLayer::Mode;
    const bool encodes = layer_.mode() != Mode::kInt;
    const int64_t tokens = layer_.tokens();
    if (encodes) std::fill_n(arguments.output, ids_ / layer_.group() * tokens, 0.0f);
    for (int64_t i = 0; i < ids_; ++i) {
      const int64_t id = reader_.Read(arguments.inputs[0], i);
      if (id < 0) return reader_.Error(arguments.inputs[0], i);
      if (!encodes) {
        arguments.output[i] = static_cast<float>(id);
        continue;
      }
      float& element = arguments.output[i / layer_.group() * tokens + id];
      element = layer_.mode() == Mode::kCount ? element + 1 : 1;
    }
    return absl::OkStatus();
  }

  // Texts have no gradient.
  void Backward(const BackwardArguments&) override {}

 private:
  const StringLookupLayer& layer_;
  const int64_t ids_;
  const IdReader reader_;
};

}  // namespace

std::unique_ptr<Kernel> CreateStringLookupKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<StringLookupKernel>(static_cast<const StringLookupLayer&>(layer),
                                              context);
}

}  // namespace cairn::nn
