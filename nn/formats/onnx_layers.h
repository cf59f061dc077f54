#ifndef CAIRN_NN_FORMATS_ONNX_LAYERS_H_
#define CAIRN_NN_FORMATS_ONNX_LAYERS_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/formats/imported_model.h"
#include "nn/formats/onnx_constant.h"
#include "nn/formats/onnx_value.h"
#include "nn/layer.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// The arguments of a layer:
//
//   OnnxArguments().Number("units", 10).Flag("use_bias", false)
class OnnxArguments {
 public:
  OnnxArguments& Number(const char* name, double value);
  OnnxArguments& Flag(const char* name, bool value);
  OnnxArguments& Text(const char* name, const std::string& value);
  OnnxArguments& Texts(const char* name, const std::vector<std::string>& values);
  OnnxArguments& Numbers(const char* name, const std::vector<int64_t>& values);
  OnnxArguments& Numbers(const char* name, const std::vector<double>& values);
  // A list of lists of two: paddings.
  OnnxArguments& Pairs(const char* name, const std::vector<std::vector<int64_t>>& values);
  OnnxArguments& Set(const char* name, google::protobuf::Value value);

  const google::protobuf::Struct& fields() const { return fields_; }

 private:
  google::protobuf::Struct fields_;
};

// The initial value of a layer's variable.
struct OnnxWeight {
  // The initializer that it is, perhaps with its elements in another order; empty: computed.
  std::string source;
  std::vector<float> values;
};

// A model under construction: layers that are checked when they are added, so that their output
// shapes are known, and the values of their variables.
class OnnxLayers {
 public:
  struct Entry {
    proto::LayerSpec spec;
    std::vector<int> inputs;
    std::unique_ptr<const Layer> layer;
    std::vector<OnnxWeight> weights;
    // Whether no element of the output can be negative.
    bool is_nonnegative = false;
  };

  explicit OnnxLayers(OnnxBudget* budget) : budget_(budget) {}

  // Adds a layer and returns its number. `name` is made unique; empty: the class decides.
  absl::StatusOr<int> Add(const std::string& name, const std::string& class_name,
                          const OnnxArguments& arguments, const std::vector<int>& inputs,
                          std::vector<OnnxWeight> weights = {});
  // Gives a layer other arguments and further weights. Its output must keep its shape.
  absl::Status Change(int layer, const OnnxArguments& more, std::vector<OnnxWeight> more_weights);

  const Entry& entry(int layer) const { return entries_[layer]; }
  const Shape& shape(int layer) const { return entries_[layer].layer->output().shape; }
  // Whether the output has whole numbers, as the indices of a StringLookup are.
  bool IsInteger(int layer) const;
  // The layer of integers that this one only makes floats of, or the layer itself.
  int WithoutCast(int layer) const;

  // A layer whose output has one axis for each of `axes`, which are products of the value's
  // factors: the layer itself, or Reshape and Permute layers that follow it.
  absl::StatusOr<int> Arranged(const OnnxValue& value, const std::vector<std::vector<int>>& axes);

  // The value with some of its factors as the last axis of its layer. They may stand there in
  // another order than that of `factors`; `order` then has, for each element of the axis in the
  // layer, its place in the order of `factors`, and is empty otherwise.
  struct Rows {
    OnnxValue value;
    std::vector<int> factors;  // Those of the last axis in `value`, in the layer's order.
    int64_t width = 1;
    std::vector<int64_t> order;
  };
  absl::StatusOr<Rows> WithLastAxis(const OnnxValue& value, const std::vector<int>& factors);

  // The model that computes these layers. Layers that lead to none of them are left out. Layers of
  // the same weights become calls of one layer.
  absl::StatusOr<ImportedModel> Finish(const std::vector<int>& outputs);

 private:
  std::string Unique(const std::string& name, const std::string& class_name);
  void ShareEqualLayers(std::vector<bool>* is_used);
  bool AreNonnegative(const std::vector<int>& layers) const;
  absl::Status CheckWeights(const Entry& entry);

  OnnxBudget* const budget_;
  std::vector<Entry> entries_;
  std::set<std::string> names_;
};

// A name for a layer, from that of one of its initializers ("conv1.weight", "dense/kernel") or else
// of its node ("/features/conv1/Conv"); empty if neither says anything.
std::string OnnxLayerName(std::string_view initializer, std::string_view node, std::string_view op);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_ONNX_LAYERS_H_
