#ifndef CAIRN_NN_LAYER_CONFIG_H_
#define CAIRN_NN_LAYER_CONFIG_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "nn/activation.h"
#include "nn/layer.h"
#include "nn/regularizer.h"
#include "nn/tensor.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// The highest rank that layers of arbitrary rank accept, without the batch axis.
inline constexpr size_t kRankMax = 16;

// Reads the arguments and inputs of a layer while it is created. The first error is kept, and the
// getters continue with placeholder values. So a factory reads everything and checks Finish() once:
//
//   const int64_t units = config.Int("units", std::nullopt, 1);
//   const bool use_bias = config.Bool("use_bias", true);
//   CAIRN_RETURN_IF_ERROR(config.Finish());
//
// Every argument that is read counts as known; Finish rejects all others. A null argument is
// treated as absent. `spec` must outlive the object. Not thread-safe.
class LayerConfig {
 public:
  LayerConfig(const proto::LayerSpec& spec, std::vector<TensorSpec> inputs);

  bool Bool(std::string_view argument, bool default_value);
  // A whole number in [minimum, maximum]. Required if `default_value` is nullopt.
  int64_t Int(std::string_view argument, std::optional<int64_t> default_value, int64_t minimum,
              int64_t maximum = kTensorElementsMax);
  // A finite number in [minimum, maximum].
  double Number(std::string_view argument, double default_value,
                double minimum = std::numeric_limits<double>::lowest(),
                double maximum = std::numeric_limits<double>::max());
  // One of the strings in `allowed`; the first one is the default.
  std::string Choice(std::string_view argument, std::initializer_list<const char*> allowed);
  // A list of whole numbers; a single number counts as a list of one. nullopt if absent.
  std::optional<std::vector<int64_t>> Ints(std::string_view argument, int64_t minimum,
                                           int64_t maximum = kTensorElementsMax);
  // Finite numbers: a single one or a nested list, which is flattened. nullopt if absent.
  std::optional<std::vector<double>> Numbers(std::string_view argument);
  // Height and width: two positive numbers, or one for both. Required if `default_value` is
  // nullopt.
  std::array<int64_t, 2> Pair(std::string_view argument,
                              std::optional<std::array<int64_t, 2>> default_value);
  // An activation by name; linear if absent.
  Activation ActivationNamed(std::string_view argument);
  // An axis from -rank to rank - 1, counting the batch as axis 0, or a list of one such axis.
  // Returns its index in an example's shape, which has `rank` dimensions.
  int64_t Axis(std::string_view argument, int64_t default_value, size_t rank);
  // True if the argument was given and is not null.
  bool Has(std::string_view argument);

  // Accepts these arguments whatever their value: they do not change the result here.
  void Ignore(std::initializer_list<const char*> arguments);
  // Requires "data_format" to be channels_last.
  void ExpectChannelsLast();

  // Creates a variable from PREFIX_initializer, PREFIX_regularizer and PREFIX_constraint. PREFIX is
  // the variable's name unless `argument_prefix` is given.
  LayerVariable Variable(const std::string& name, Shape shape, const char* default_initializer,
                         const char* argument_prefix = nullptr);

  // The layer's only input, float, of a rank in [rank_min, rank_max].
  const TensorSpec& FloatInput(size_t rank_min, size_t rank_max);
  // The layer's only input, of any type and of this rank. Images may be integers.
  const TensorSpec& ImageInput(size_t rank);
  // All inputs: float, at least `count_min` of them.
  const std::vector<TensorSpec>& FloatInputs(size_t count_min);
  // The layer's only input, of any type.
  const TensorSpec& AnyInput();

  // Records an error unless one is recorded already.
  void Fail(std::string_view reason);
  // Like Fail, with the argument's name.
  void FailArgument(std::string_view argument, std::string_view reason);
  // Returns INVALID_ARGUMENT with the layer's name, its class and the first error, or with the
  // first argument that no getter has read and the list of known ones.
  absl::Status Finish() const;

  const proto::LayerSpec& spec() const { return spec_; }
  const std::string& class_name() const { return spec_.class_name(); }
  bool trainable() const { return trainable_; }
  // The argument of Layer's constructor.
  Layer::Base base() const;

 private:
  const google::protobuf::Value* Find(std::string_view argument);
  // `shape`: of the variable; empty for the output of a layer.
  Regularizer ReadRegularizer(std::string_view argument, const Shape& shape);
  std::optional<int64_t> ReadInt(const google::protobuf::Value& value, int64_t minimum,
                                 int64_t maximum) const;
  const TensorSpec& RankedInput(size_t rank_min, size_t rank_max, bool floats_only);
  void ExpectInputs(size_t count_min, size_t count_max, bool floats_only);

  const proto::LayerSpec& spec_;
  const std::vector<TensorSpec> inputs_;
  TensorSpec placeholder_input_;
  std::vector<TensorSpec> placeholder_inputs_;
  std::vector<std::string> known_;
  bool trainable_ = true;
  Regularizer activity_regularizer_;
  std::string first_error_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYER_CONFIG_H_
