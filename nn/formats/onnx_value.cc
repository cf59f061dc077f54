#include "nn/formats/onnx_value.h"

#include <algorithm>
#include <utility>

#include "absl/numeric/int128.h"
#include "nn/formats/onnx_constant.h"

namespace cairn::nn {
namespace {

absl::uint128 Product(const Shape& sizes) {
  absl::uint128 product = 1;
  for (const int64_t size : sizes) {
    // The elements of a tensor and the batch need 71 bits.
    if (product > absl::uint128(1) << 80 || size < 0) return 0;
    product *= static_cast<uint64_t>(size);
  }
  return product;
}

// Replaces a -1 by what is left of `total`; false if nothing fits.
bool Complete(absl::uint128 total, Shape* sizes) {
  const auto open = std::find(sizes->begin(), sizes->end(), -1);
  if (open != sizes->end()) {
    *open = 1;
    const absl::uint128 others = Product(*sizes);
    const absl::uint128 left = others == 0 ? absl::uint128(0) : total / others;
    if (left > absl::uint128(kTensorElementsMax) * kOnnxBatch) return false;
    // A group of the batch and more than fits is no size.
    if (left > absl::uint128(int64_t{1} << 62)) return false;
    *open = static_cast<int64_t>(left);
  }
  return total != 0 && Product(*sizes) == total;
}

}  // namespace

int64_t OnnxValue::FactorSize(int factor) const {
  return factor == 0 ? kOnnxBatch : sizes[factor - 1];
}

int64_t OnnxValue::AxisSize(int axis) const {
  int64_t size = 1;
  for (const int factor : axes[axis]) {
    if (__builtin_mul_overflow(size, FactorSize(factor), &size)) return -1;
  }
  return size;
}

Shape OnnxValue::shape() const {
  Shape shape;
  for (int axis = 0; axis < rank(); ++axis) shape.push_back(AxisSize(axis));
  return shape;
}

bool OnnxValue::IsBatch(int axis) const { return axes[axis].size() == 1 && axes[axis][0] == 0; }

int OnnxValue::batch_axis() const {
  for (int axis = 0; axis < rank(); ++axis) {
    if (IsBatch(axis)) return axis;
  }
  return -1;
}

OnnxValue WholeValue(int layer, const Shape& shape) {
  OnnxValue value{.layer = layer, .sizes = shape};
  for (int factor = 0; factor <= static_cast<int>(shape.size()); ++factor) {
    value.axes.push_back({factor});
  }
  return value;
}

OnnxValue ChannelsFirst(int layer, const Shape& shape) {
  OnnxValue value = WholeValue(layer, shape);
  if (value.rank() > 2) {
    std::rotate(value.axes.begin() + 1, value.axes.end() - 1, value.axes.end());
  }
  return value;
}

std::optional<OnnxValue> Regrouped(const OnnxValue& value, const Shape& sizes) {
  std::vector<int> order;
  for (const auto& axis : value.axes) order.insert(order.end(), axis.begin(), axis.end());
  // A piece of a factor: which one, and its place among the pieces of that factor.
  using Piece = std::pair<int, int>;
  std::vector<Shape> pieces(value.sizes.size() + 1);
  std::vector<std::vector<Piece>> axes;
  size_t next = 0;
  int64_t left = 1;  // Of the factor before `next`.
  for (const int64_t size : sizes) {
    axes.emplace_back();
    for (int64_t needed = size; needed != 1;) {
      if (left == 1) {
        if (next == order.size()) return std::nullopt;
        left = value.FactorSize(order[next++]);
        continue;
      }
      const int64_t piece = needed % left == 0 ? left : needed;
      if (needed < 1 || left % piece != 0) return std::nullopt;
      const int factor = order[next - 1];
      axes.back().emplace_back(factor, static_cast<int>(pieces[factor].size()));
      pieces[factor].push_back(piece);
      needed /= piece;
      left /= piece;
    }
  }
  for (; next < order.size() && left == 1; ++next) left = value.FactorSize(order[next]);
  if (left != 1) return std::nullopt;
  OnnxValue result{.layer = value.layer, .is_exclusive = value.is_exclusive};
  std::vector<int> first(pieces.size(), 0);  // By factor: that of its first piece.
  for (size_t factor = 1; factor < pieces.size(); ++factor) {
    if (pieces[factor].empty()) pieces[factor].push_back(value.FactorSize(factor));
    first[factor] = static_cast<int>(result.sizes.size()) + 1;
    result.sizes.insert(result.sizes.end(), pieces[factor].begin(), pieces[factor].end());
  }
  for (const auto& axis : axes) {
    result.axes.emplace_back();
    for (const auto& [factor, piece] : axis) result.axes.back().push_back(first[factor] + piece);
  }
  if (value.reversed >= 0) {
    if (pieces[value.reversed].size() != 1) return std::nullopt;
    result.reversed = first[value.reversed];
  }
  return result;
}

std::vector<Shape> ReshapeTargets(const OnnxValue& value, Shape sizes, int64_t file_batch) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0 && i < value.axes.size()) sizes[i] = value.AxisSize(static_cast<int>(i));
  }
  const absl::uint128 total = Product(value.shape());
  std::vector<Shape> targets;
  const auto add = [&](Shape target) {
    if (Complete(total, &target)) targets.push_back(std::move(target));
  };
  const int batch = value.batch_axis();
  const auto count = static_cast<int>(sizes.size());
  if (file_batch > 0 && batch >= 0 && batch < count && sizes[batch] == file_batch) {
    Shape target = sizes;
    target[batch] = kOnnxBatch;
    add(target);
  }
  add(sizes);
  for (int i = 0; i < count && file_batch > 0; ++i) {
    if (sizes[i] < 1 || sizes[i] % file_batch != 0 || sizes[i] > kTensorElementsMax) continue;
    Shape target = sizes;
    if (__builtin_mul_overflow(sizes[i] / file_batch, kOnnxBatch, &target[i])) continue;
    add(target);
  }
  return targets;
}

}  // namespace cairn::nn
