#include "nn/cuda/id_input.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/category_encoding.h"
#include "nn/layers/discretization.h"
#include "nn/layers/string_lookup.h"

namespace cairn::nn::cuda {
namespace {

// What the layers of this file write for their ids.
struct Encoding {
  bool is_int = false;  // The ids themselves.
  bool counts = false;  // How often each id occurs in a group; else whether it does.
  int64_t count = 0;    // Ids of all examples.
  Divisor group;        // Ids for each vector of the output.
  int64_t tokens = 1;   // The length of a vector.
};

template <typename Encoder>
Encoding EncodingOf(const Encoder& layer, bool is_int, int64_t tokens,
                    const KernelContext& context) {
  return {.is_int = is_int,
          .counts = layer.mode() == Encoder::Mode::kCount,
          .count = context.options.examples * ElementCount(layer.inputs()[0].shape),
          .group = layer.group(),
          .tokens = tokens};
}

// An element of the output is written by each of the ids that it stands for, with the same value.
// Nothing is written for an id of -1.
void Encode(Context* context, const Encoding& of, const int64_t* ids, float* output) {
  if (of.is_int) {
    ForEach(context, of.count,
            [=] __device__(int64_t i) { output[i] = static_cast<float>(ids[i]); });
    return;
  }
  context->Zero(output, of.count / of.group * of.tokens * sizeof(float));
  ForEach(context, of.count, [=] __device__(int64_t i) {
    if (ids[i] < 0) return;
    const int64_t vector = i / of.group;
    const int64_t* const group = ids + vector * of.group;
    int64_t occurrences = 0;
    for (int64_t k = 0; of.counts && k < of.group; ++k) occurrences += group[k] == ids[i];
    output[vector * of.tokens + ids[i]] = of.counts ? static_cast<float>(occurrences) : 1;
  });
}

// What the kernels of this file have in common.
class EncodingKernel : public Kernel {
 public:
  // Ids and bins are constant almost everywhere.
  void Backward(const BackwardArguments& arguments) override {
    float* const gradient = arguments.input_gradients[0];
    if (gradient != nullptr) context_->Zero(gradient, encoding_.count * sizeof(float));
  }

 protected:
  EncodingKernel(const Encoding& encoding, Context* context)
      : context_(context), encoding_(encoding), ids_(context, encoding.count) {}

  void EncodeIds(float* output) const { Encode(context_, encoding_, ids_.data(), output); }

  Context* const context_;
  const Encoding encoding_;
  const DeviceArray<int64_t> ids_;
};

// CategoryEncoding, and StringLookup, whose input has the indices already.
class IdEncodingKernel final : public EncodingKernel {
 public:
  IdEncodingKernel(const Encoding& encoding, const Layer& layer, const char* bound_name,
                   const KernelContext& context)
      : EncodingKernel(encoding, context.cuda),
        input_(layer, context.options.examples, encoding.tokens, bound_name, context.cuda) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const Ids input = input_.Of(arguments.inputs[0]);
    int64_t* const ids = ids_.data();
    double* const invalid = arguments.invalid;
    ForEach(context_, encoding_.count, [=] __device__(int64_t i) {
      ids[i] = input.At(i);
      if (ids[i] < 0) *invalid = 1;
    });
    EncodeIds(arguments.output);
    return absl::OkStatus();
  }

  absl::Status FindInvalid(const ForwardArguments& arguments) override {
    return input_.FindInvalid(arguments.inputs[0]);
  }

 private:
  const IdInput input_;
};

// A value's bin is the number of boundaries that are not larger. NaN is in the last bin, as on the
// CPU.
void FindBins(Context* context, int64_t count, const float* values, bool is_integer,
              int64_t boundary_count, const float* boundaries, int64_t* bins) {
  ForEach(context, count, [=] __device__(int64_t i) {
    const float value =
        is_integer ? static_cast<float>(reinterpret_cast<const int32_t*>(values)[i]) : values[i];
    int64_t begin = 0;
    int64_t end = boundary_count;
    while (begin < end) {
      const int64_t middle = (begin + end) / 2;
      if (value < boundaries[middle]) {
        end = middle;
      } else {
        begin = middle + 1;
      }
    }
    bins[i] = begin;
  });
}

class DiscretizationKernel final : public EncodingKernel {
 public:
  DiscretizationKernel(const Encoding& encoding, const DiscretizationLayer& layer,
                       const KernelContext& context)
      : EncodingKernel(encoding, context.cuda),
        is_integer_(layer.inputs()[0].type != proto::FLOAT32),
        boundary_count_(layer.bins() - 1),
        boundaries_(context.cuda, boundary_count_) {
    context.cuda->Upload(boundaries_.data(), layer.boundaries());
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    FindBins(context_, encoding_.count, arguments.inputs[0], is_integer_, boundary_count_,
             boundaries_.data(), ids_.data());
    EncodeIds(arguments.output);
    return absl::OkStatus();
  }

 private:
  const bool is_integer_;
  const int64_t boundary_count_;
  DeviceArray<float> boundaries_;
};

}  // namespace

std::unique_ptr<Kernel> CreateEncodingKernel(const Layer& layer, const KernelContext& context) {
  if (layer.class_name() == "Discretization") {
    const auto& bins = static_cast<const DiscretizationLayer&>(layer);
    const bool is_int = bins.mode() == DiscretizationLayer::Mode::kInt;
    return std::make_unique<DiscretizationKernel>(EncodingOf(bins, is_int, bins.bins(), context),
                                                  bins, context);
  }
  if (layer.class_name() == "StringLookup") {
    const auto& lookup = static_cast<const StringLookupLayer&>(layer);
    const bool is_int = lookup.mode() == StringLookupLayer::Mode::kInt;
    return std::make_unique<IdEncodingKernel>(EncodingOf(lookup, is_int, lookup.tokens(), context),
                                              layer, "indices", context);
  }
  const auto& encoding = static_cast<const CategoryEncodingLayer&>(layer);
  return std::make_unique<IdEncodingKernel>(
      EncodingOf(encoding, /*is_int=*/false, encoding.tokens(), context), layer, "tokens", context);
}

}  // namespace cairn::nn::cuda
