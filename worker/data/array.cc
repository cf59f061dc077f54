#include "worker/data/array.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace cairn::worker {
namespace {

struct TypeRow {
  const char* name;
  int64_t bytes;
};

// In the order of ElementType.
constexpr TypeRow kTypes[] = {{"bool", 1},  {"uint8", 1},   {"int8", 1},   {"uint16", 2},
                              {"int16", 2}, {"uint32", 4},  {"int32", 4},  {"uint64", 8},
                              {"int64", 8}, {"float32", 4}, {"float64", 8}};

const TypeRow& RowOf(ElementType type) { return kTypes[static_cast<int>(type)]; }

// Calls function(T{}) with the C++ type of `type`.
template <typename Function>
auto WithType(ElementType type, Function function) {
  switch (type) {
    case ElementType::kBool:
    case ElementType::kUint8:
      return function(uint8_t{});
    case ElementType::kInt8:
      return function(int8_t{});
    case ElementType::kUint16:
      return function(uint16_t{});
    case ElementType::kInt16:
      return function(int16_t{});
    case ElementType::kUint32:
      return function(uint32_t{});
    case ElementType::kInt32:
      return function(int32_t{});
    case ElementType::kUint64:
      return function(uint64_t{});
    case ElementType::kInt64:
      return function(int64_t{});
    case ElementType::kFloat64:
      return function(double{});
    case ElementType::kFloat32:
      break;
  }
  return function(float{});
}

// Elements of a file's header offset need not be aligned.
template <typename T>
T Load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <typename T>
void CopyScaled(const char* from, int64_t count, double scale, float* out) {
  if (scale == 1.0) {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<float>(Load<T>(from + i * sizeof(T)));
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(static_cast<double>(Load<T>(from + i * sizeof(T))) * scale);
  }
}

template <typename T>
bool IsInt32(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value >= -2147483648.0 && value < 2147483648.0 && value == std::trunc(value);
  } else {
    return std::in_range<int32_t>(value);
  }
}

int64_t ElementsOf(const Array& array) {
  return (array.bytes.size() - array.data_offset) / ElementBytes(array.type);
}

}  // namespace

int64_t ElementBytes(ElementType type) { return RowOf(type).bytes; }

const char* ElementName(ElementType type) { return RowOf(type).name; }

std::string Array::ToString() const {
  return absl::StrCat(ElementName(type), " ", nn::ShapeText(shape));
}

void CopyAsFloat(const Array& array, int64_t first, int64_t count, double scale, float* out) {
  const char* from = array.bytes.data() + array.data_offset + first * ElementBytes(array.type);
  WithType(array.type, [&](auto item) { CopyScaled<decltype(item)>(from, count, scale, out); });
}

void CopyAsInt32(const Array& array, int64_t first, int64_t count, int32_t* out) {
  const char* from = array.bytes.data() + array.data_offset + first * ElementBytes(array.type);
  WithType(array.type, [&](auto item) {
    using T = decltype(item);
    for (int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<int32_t>(Load<T>(from + i * sizeof(T)));
    }
  });
}

std::optional<ValueRange> FindRange(const Array& array) {
  const int64_t count = ElementsOf(array);
  if (count == 0) return std::nullopt;
  const char* from = array.bytes.data() + array.data_offset;
  return WithType(array.type, [&](auto item) {
    using T = decltype(item);
    T low = Load<T>(from);
    T high = low;
    bool nan = false;
    for (int64_t i = 0; i < count; ++i) {
      const T value = Load<T>(from + i * sizeof(T));
      low = value < low ? value : low;
      high = high < value ? value : high;
      nan |= value != value;
    }
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (nan) return ValueRange{kNan, kNan};
    return ValueRange{static_cast<double>(low), static_cast<double>(high)};
  });
}

std::optional<int64_t> FindNotInt32(const Array& array) {
  const int64_t count = ElementsOf(array);
  const char* from = array.bytes.data() + array.data_offset;
  return WithType(array.type, [&](auto item) -> std::optional<int64_t> {
    using T = decltype(item);
    for (int64_t i = 0; i < count; ++i) {
      if (!IsInt32(Load<T>(from + i * sizeof(T)))) return i;
    }
    return std::nullopt;
  });
}

}  // namespace cairn::worker
