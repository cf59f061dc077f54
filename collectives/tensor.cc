#include "collectives/tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "common/check.h"

namespace cairn::collectives {
namespace {

// IEEE 754 binary16.
struct Float16 {
  uint16_t bits;
};
// The upper half of a float32.
struct Bfloat16 {
  uint16_t bits;
};

float ToFloat(float value) { return value; }

float ToFloat(Bfloat16 value) { return std::bit_cast<float>(uint32_t{value.bits} << 16); }

float ToFloat(Float16 value) {
  const uint32_t sign = uint32_t{value.bits & 0x8000U} << 16;
  const uint32_t exponent = (value.bits >> 10) & 0x1FU;
  const uint32_t mantissa = value.bits & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

void FromFloat(float value, float* out) { *out = value; }

// Round to nearest, ties to even.
void FromFloat(float value, Bfloat16* out) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) {
    out->bits = static_cast<uint16_t>(bits >> 16 | 0x40U);
    return;
  }
  out->bits = static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

void FromFloat(float value, Float16* out) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) {
    out->bits = sign | 0x7E00U;
  } else if (magnitude >= 65520.0F) {  // Rounds to infinity.
    out->bits = sign | 0x7C00U;
  } else if (magnitude < std::ldexp(1.0F, -14)) {
    // Subnormal: multiples of 2^-24. nearbyint rounds ties to even.
    out->bits = sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24)));
  } else {
    const uint32_t rounded = (bits & 0x7FFFFFFFU) + 0xFFFU + (bits >> 13 & 1U);
    out->bits = static_cast<uint16_t>(sign | ((rounded >> 13) - (112U << 10)));
  }
}

template <typename T>
T Combine(ReduceOp op, T a, T b) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage:
      return a + b;
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kProduct:
      return a * b;
  }
  return a;
}

// Integers wrap around.
template <typename T>
T CombineIntegers(ReduceOp op, T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  if (op == ReduceOp::kMin || op == ReduceOp::kMax) return Combine(op, a, b);
  return static_cast<T>(Combine(op, static_cast<Unsigned>(a), static_cast<Unsigned>(b)));
}

// `op` is constant in each loop, so that the compiler vectorizes it.
template <ReduceOp op, typename T>
void ReduceFloats(const void* first, const void* second, size_t count, void* to) {
  const T* const a = static_cast<const T*>(first);
  const T* const b = static_cast<const T*>(second);
  T* const c = static_cast<T*>(to);
  for (size_t i = 0; i < count; ++i) FromFloat(Combine(op, ToFloat(a[i]), ToFloat(b[i])), &c[i]);
}

template <ReduceOp op, typename T>
void ReduceIntegers(const void* first, const void* second, size_t count, void* to) {
  const T* const a = static_cast<const T*>(first);
  const T* const b = static_cast<const T*>(second);
  T* const c = static_cast<T*>(to);
  for (size_t i = 0; i < count; ++i) c[i] = CombineIntegers(op, a[i], b[i]);
}

template <ReduceOp op>
void ReduceOf(DataType type, const void* first, const void* second, size_t count, void* to) {
  switch (type) {
    case DataType::kFloat32:
      return ReduceFloats<op, float>(first, second, count, to);
    case DataType::kFloat16:
      return ReduceFloats<op, Float16>(first, second, count, to);
    case DataType::kBfloat16:
      return ReduceFloats<op, Bfloat16>(first, second, count, to);
    case DataType::kInt32:
      return ReduceIntegers<op, int32_t>(first, second, count, to);
    case DataType::kInt64:
      return ReduceIntegers<op, int64_t>(first, second, count, to);
  }
}

template <typename T>
void ScaleFloats(float factor, size_t count, void* data) {
  T* const values = static_cast<T*>(data);
  for (size_t i = 0; i < count; ++i) FromFloat(ToFloat(values[i]) * factor, &values[i]);
}

template <typename T>
void DivideIntegers(int divisor, size_t count, void* data) {
  T* const values = static_cast<T*>(data);
  for (size_t i = 0; i < count; ++i) values[i] /= static_cast<T>(divisor);
}

}  // namespace

size_t SizeOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return 2;
    case DataType::kFloat32:
    case DataType::kInt32:
      return 4;
    case DataType::kInt64:
      return 8;
  }
  return 0;
}

const char* NameOf(ReduceOp op) {
  constexpr const char* kNames[] = {"sum", "average", "min", "max", "product"};
  return kNames[static_cast<int>(op)];
}

void Reduce(ReduceOp op, DataType type, const void* from, size_t count, void* into) {
  Reduce(op, type, into, from, count, into);
}

void Reduce(ReduceOp op, DataType type, const void* first, const void* second, size_t count,
            void* to) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage:
      return ReduceOf<ReduceOp::kSum>(type, first, second, count, to);
    case ReduceOp::kMin:
      return ReduceOf<ReduceOp::kMin>(type, first, second, count, to);
    case ReduceOp::kMax:
      return ReduceOf<ReduceOp::kMax>(type, first, second, count, to);
    case ReduceOp::kProduct:
      return ReduceOf<ReduceOp::kProduct>(type, first, second, count, to);
  }
}

void ScaleInPlace(DataType type, double factor, size_t count, void* data) {
  if (factor == 1) return;
  const auto single = static_cast<float>(factor);
  switch (type) {
    case DataType::kFloat32:
      return ScaleFloats<float>(single, count, data);
    case DataType::kFloat16:
      return ScaleFloats<Float16>(single, count, data);
    case DataType::kBfloat16:
      return ScaleFloats<Bfloat16>(single, count, data);
    case DataType::kInt32:
    case DataType::kInt64:
      CAIRN_CHECK(false);
  }
}

void DivideInPlace(DataType type, int divisor, size_t count, void* data) {
  if (type == DataType::kInt32) return DivideIntegers<int32_t>(divisor, count, data);
  if (type == DataType::kInt64) return DivideIntegers<int64_t>(divisor, count, data);
  ScaleInPlace(type, 1.0 / divisor, count, data);
}

}  // namespace cairn::collectives
