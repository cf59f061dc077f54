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

// Layers that take any rank take up to this one.
inline constexpr size_t kRankMax = 16;

// Reads a layer's arguments and inputs while it is being created. The first mistake is remembered
// and the getters go on with harmless values, so a factory asks for everything and looks at
// Finish() once. Every argument that is asked for counts as known; null means absent.
// `spec` must outlive it.
class LayerConfig {
 public:
  LayerConfig(const proto::LayerSpec& spec, std::vector<TensorSpec> inputs);

  bool Bool(std::string_view argument, bool default_value);
  // Whole, in [minimum, maximum]. Without a default the argument is required.
  int64_t Int(std::string_view argument, std::optional<int64_t> default_value, int64_t minimum,
              int64_t maximum = kTensorElementsMax);
  // Finite, in [minimum, maximum].
  double Number(std::string_view argument, double default_value,
                double minimum = std::numeric_limits<double>::lowest(),
                double maximum = std::numeric_limits<double>::max());
  // One of `allowed`, the first of which is the default.
  std::string Word(std::string_view argument, std::initializer_list<const char*> allowed);
  // A list of whole numbers, or one, which means a list of one. Absent: nullopt.
  std::optional<std::vector<int64_t>> Ints(std::string_view argument, int64_t minimum,
                                           int64_t maximum = kTensorElementsMax);
  // Finite numbers: one, or a list, nested as an array is. Absent: nullopt.
  std::optional<std::vector<double>> Numbers(std::string_view argument);
  // Height and width of something: two positive numbers, or one for both. Without a default the
  // argument is required.
  std::array<int64_t, 2> Pair(std::string_view argument,
                              std::optional<std::array<int64_t, 2>> default_value);
  Activation ActivationNamed(std::string_view argument);
  // The axis that the layer works along, -rank to rank - 1 counting the batch, as a position in an
  // example's shape of `rank` dimensions. A list of one is taken too.
  int64_t Axis(std::string_view argument, int64_t default_value, size_t rank);
  // True if the argument was given and is not null.
  bool Has(std::string_view argument);

  // Arguments that change nothing here, whatever they are.
  void Ignore(std::initializer_list<const char*> arguments);
  // "data_format", which must be channels_last.
  void ExpectChannelsLast();

  // Reads PREFIX_initializer, PREFIX_regularizer and PREFIX_constraint (which must be absent). The
  // prefix is the variable's name unless it is said.
  LayerVariable Variable(const std::string& name, Shape shape, const char* default_initializer,
                         const char* argument_prefix = nullptr);

  // The layer's only input, float, with a rank in the range.
  const TensorSpec& FloatInput(size_t rank_min, size_t rank_max);
  // The only input, of any type, with that rank: an image may come as whole numbers.
  const TensorSpec& ImageInput(size_t rank);
  // All inputs, float, at least `count_min` of them.
  const std::vector<TensorSpec>& FloatInputs(size_t count_min);
  // The only input, of any type.
  const TensorSpec& AnyInput();

  // Remembers a mistake, if it is the first.
  void Fail(std::string_view reason);
  // As Fail, naming the argument.
  void FailArgument(std::string_view argument, std::string_view reason);
  // INVALID_ARGUMENT with the layer, its class and the first mistake, or an argument that nobody
  // asked for and the list of those that were.
  absl::Status Finish() const;

  const proto::LayerSpec& spec() const { return spec_; }
  const std::string& class_name() const { return spec_.class_name(); }
  bool trainable() const { return trainable_; }
  // What Layer's constructor wants.
  Layer::Base base() const;

 private:
  const google::protobuf::Value* Find(std::string_view argument);
  std::optional<int64_t> ReadInt(const google::protobuf::Value& value, int64_t minimum,
                                 int64_t maximum) const;
  const TensorSpec& RankedInput(size_t rank_min, size_t rank_max, bool floats_only);
  void ExpectInputs(size_t count_min, size_t count_max, bool floats_only);

  const proto::LayerSpec& spec_;
  const std::vector<TensorSpec> inputs_;
  TensorSpec harmless_input_;
  std::vector<TensorSpec> harmless_inputs_;
  std::vector<std::string> known_;
  bool trainable_ = true;
  std::string mistake_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYER_CONFIG_H_
