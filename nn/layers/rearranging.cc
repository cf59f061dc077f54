#include "nn/layers/rearranging.h"

#include <array>
#include <cstdint>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/layers/window.h"

namespace cairn::nn {

namespace {

constexpr int64_t kMarginMax = int64_t{1} << 20;

struct Margin {
  int64_t before = 1;
  int64_t after = 1;
};

// The mappings that copy the whole input.
std::vector<AxisMapping> Identity(const Shape& input) { return BroadcastMappings(input, input); }

// Reads a padding or cropping. In 2D Keras allows a number, [rows, columns], or [[top, bottom],
// [left, right]], in 3D the same with three axes; in 1D a number or [before, after]. Nested lists
// arrive flattened.
std::vector<Margin> ReadMargins(const char* argument, size_t axes, LayerConfig& config) {
  std::vector<Margin> margins(axes);
  const auto numbers = config.Numbers(argument);
  if (!numbers.has_value()) {
    // The only default in Keras that is not 1.
    if (config.class_name() == "Cropping2D") margins.assign(axes, Margin{0, 0});
    return margins;
  }
  std::vector<int64_t> given;
  for (double number : *numbers) {
    const bool is_good = number >= 0 && number <= kMarginMax &&
                         number == static_cast<double>(static_cast<int64_t>(number));
    if (!is_good) {
      config.FailArgument(argument, absl::StrCat("must be whole numbers from 0 to ", kMarginMax));
      return margins;
    }
    given.push_back(static_cast<int64_t>(number));
  }
  const size_t by_axis = axes == 1 ? 2 : axes;
  if (given.size() != 1 && given.size() != by_axis && given.size() != 2 * axes) {
    config.FailArgument(argument,
                        absl::StrCat("has ", given.size(), " numbers; it takes 1, ", by_axis,
                                     axes == 1 ? "" : absl::StrCat(" or ", 2 * axes)));
    return margins;
  }
  for (size_t axis = 0; axis < axes; ++axis) {
    if (given.size() == 2 * axes) margins[axis] = {given[2 * axis], given[2 * axis + 1]};
    if (given.size() == 1) margins[axis] = {given[0], given[0]};
    if (given.size() == axes && axes > 1) margins[axis] = {given[axis], given[axis]};
  }
  return margins;
}

std::vector<AxisMapping> ReadFrame(LayerConfig& config) {
  const size_t axes = absl::EndsWith(config.class_name(), "1D")   ? 1
                      : absl::EndsWith(config.class_name(), "3D") ? 3
                                                                  : 2;
  const bool crops = absl::StartsWith(config.class_name(), "Cropping");
  std::vector<AxisMapping> mappings = Identity(config.FloatInput(axes + 1, axes + 1).shape);
  config.ExpectChannelsLast();
  // Steps are called rows.
  static constexpr const char* kNames[][3] = {
      {" rows"}, {" rows", " columns"}, {" planes", " rows", " columns"}};
  const std::vector<Margin> margins = ReadMargins(crops ? "cropping" : "padding", axes, config);
  for (size_t axis = 0; axis < axes; ++axis) {
    const Margin& margin = margins[axis];
    mappings[axis].offset = crops ? -margin.before : margin.before;
    const int64_t both = margin.before + margin.after;
    mappings[axis].length += crops ? -both : both;
    if (mappings[axis].length >= 1) continue;
    config.FailArgument("cropping", absl::StrCat("leaves nothing of ", mappings[axis].input_length,
                                                 kNames[axes - 1][axis]));
    mappings[axis].length = 1;
  }
  return mappings;
}

std::vector<AxisMapping> ReadPermutation(LayerConfig& config) {
  const std::vector<AxisMapping> before = Identity(config.FloatInput(1, kRankMax).shape);
  const int64_t rank = static_cast<int64_t>(before.size());
  const auto axes = config.Ints("dims", 1, rank);
  if (!axes.has_value()) config.FailArgument("dims", "is missing");
  std::vector<AxisMapping> mappings;
  std::vector<bool> is_taken(rank, false);
  for (int64_t axis : axes.value_or(std::vector<int64_t>())) {
    if (is_taken[axis - 1]) break;
    is_taken[axis - 1] = true;
    mappings.push_back(before[axis - 1]);
  }
  if (static_cast<int64_t>(mappings.size()) == rank && axes->size() == mappings.size())
    return mappings;
  config.FailArgument("dims", absl::StrCat("must name each of the axes 1 to ", rank, " once"));
  return before;
}

std::vector<AxisMapping> ReadRepetition(LayerConfig& config) {
  std::vector<AxisMapping> mappings = Identity(config.FloatInput(1, 1).shape);
  const int64_t times = config.Int("n", std::nullopt, 1);
  mappings.insert(mappings.begin(), {.length = times, .input_length = times});
  return mappings;
}

// UpSampling3D: a repetition after each axis but the channels'.
std::vector<AxisMapping> ReadUpSampling(Shape* output, LayerConfig& config) {
  const std::vector<AxisMapping> before = Identity(config.FloatInput(4, 4).shape);
  config.ExpectChannelsLast();
  const std::array<int64_t, 3> factors =
      ReadTriple("size", std::array<int64_t, 3>{2, 2, 2}, config);
  std::vector<AxisMapping> mappings;
  for (size_t axis = 0; axis < 3; ++axis) {
    mappings.push_back(before[axis]);
    mappings.push_back({.length = factors[axis], .input_length = factors[axis]});
    output->push_back(before[axis].length * factors[axis]);
  }
  mappings.push_back(before[3]);
  output->push_back(before[3].length);
  return mappings;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> RearrangingLayer::Create(LayerConfig& config) {
  std::vector<AxisMapping> mappings;
  TensorSpec output;
  if (config.class_name() == "UpSampling3D") {
    mappings = ReadUpSampling(&output.shape, config);
  } else if (config.class_name() == "Permute") {
    mappings = ReadPermutation(config);
  } else if (config.class_name() == "RepeatVector") {
    mappings = ReadRepetition(config);
  } else {
    mappings = ReadFrame(config);
  }
  CAIRN_RETURN_IF_ERROR(config.Finish());
  if (output.shape.empty()) {
    for (const AxisMapping& mapping : mappings) output.shape.push_back(mapping.length);
  }
  return std::unique_ptr<const Layer>(
      new RearrangingLayer(config.base(), std::move(output), std::move(mappings)));
}

}  // namespace cairn::nn
