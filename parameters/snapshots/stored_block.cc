#include "parameters/snapshots/stored_block.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nn/optimizer.h"

namespace cairn::parameters {

namespace {

constexpr int64_t kElementsMax = int64_t{1} << 48;

std::string Describe(const proto::BlockHeader& header) {
  return absl::StrCat("rows ", header.row_begin(), " to ", header.row_end(), " of ",
                      header.variable(), " with shape (",
                      absl::StrJoin(header.variable_shape(), ", "), ")");
}

}  // namespace

absl::StatusOr<int64_t> CountElements(const proto::BlockHeader& header) {
  const int64_t rows = header.variable_shape_size() > 0 ? header.variable_shape(0) : 1;
  if (header.row_begin() < 0 || header.row_begin() >= header.row_end() || header.row_end() > rows) {
    return absl::InvalidArgumentError(absl::StrCat(Describe(header), ": no such rows"));
  }
  int64_t count = header.row_end() - header.row_begin();
  for (int axis = 1; axis < header.variable_shape_size(); ++axis) {
    const int64_t dimension = header.variable_shape(axis);
    if (dimension < 1 || count >= kElementsMax / dimension) {
      return absl::InvalidArgumentError(absl::StrCat(Describe(header), ": invalid shape"));
    }
    count *= dimension;
  }
  if (count >= kElementsMax) {
    return absl::InvalidArgumentError(absl::StrCat(Describe(header), ": invalid shape"));
  }
  return count;
}

absl::StatusOr<StoredBlock> StoredBlock::Parse(uint32_t id, storage::BlockRecord record) {
  proto::BlockHeader header;
  const std::string_view bytes = record.header();
  if (!header.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError(absl::StrCat("stored block ", id, " has an unreadable header"));
  }
  const absl::StatusOr<int64_t> count = CountElements(header);
  if (!count.ok()) {
    return absl::DataLossError(
        absl::StrCat("stored block ", id, ": ", std::string(count.status().message())));
  }
  const auto arrays = static_cast<uint64_t>(header.slots_size()) + 1;
  const uint64_t array_bytes = static_cast<uint64_t>(*count) * sizeof(float);
  const uint64_t expected = array_bytes * arrays;
  // The second comparison detects an overflow of the product.
  if (record.payload().size() != expected || record.payload().size() / arrays != array_bytes) {
    return absl::DataLossError(
        absl::StrCat("stored block ", id, " (", Describe(header), ", ", header.slots_size(),
                     " slots) has ", record.payload().size(), " bytes, expected ", expected));
  }
  return StoredBlock(std::move(header), *count, std::move(record));
}

void StoredBlock::CopyValues(float* out) const {
  std::memcpy(out, record_.payload().data(), static_cast<size_t>(count_) * sizeof(float));
}

void StoredBlock::CopyTrainedValues(float* out) const {
  const auto& slots = header_.slots();
  const auto average = std::find(slots.begin(), slots.end(), nn::Optimizer::kAverageSlotName);
  // The average is not initialized before the first update.
  if (average == slots.end() || header_.version() == 0) return CopyValues(out);
  const size_t values_bytes = static_cast<size_t>(count_) * sizeof(float);
  const size_t array = static_cast<size_t>(average - slots.begin()) + 1;
  std::memcpy(out, record_.payload().data() + array * values_bytes, values_bytes);
}

void StoredBlock::CopySlots(float* out) const {
  const size_t values_bytes = static_cast<size_t>(count_) * sizeof(float);
  const std::string_view slots = record_.payload().substr(values_bytes);
  // An optimizer without slots has nothing to copy, and `out` may be null.
  std::copy(slots.begin(), slots.end(), reinterpret_cast<char*>(out));
}

}  // namespace cairn::parameters
