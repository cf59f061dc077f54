#include "job/partitioner.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "job/field_checks.h"

namespace cairn::job {
namespace {

constexpr int64_t kDefaultBytes = 262144;
constexpr int64_t kBytesMax = int64_t{1} << 50;

int64_t CeilDivide(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace

absl::Status CheckPartitioner(const proto::Partitioner& partitioner) {
  if (partitioner.has_placement()) {
    CAIRN_RETURN_IF_ERROR(
        CheckWord("partitioner.placement", partitioner.placement(), {"balanced", "round_robin"}));
  }
  switch (partitioner.kind_case()) {
    case proto::Partitioner::kMinSliceBytes:
      return CheckRange("partitioner.min_slice_bytes", true, partitioner.min_slice_bytes(), 1,
                        kBytesMax);
    case proto::Partitioner::kFixedShards:
      return CheckRange("partitioner.fixed_shards", true, partitioner.fixed_shards(), 1,
                        cluster::kShardsMax);
    case proto::Partitioner::kMinSize: {
      const proto::MinSizePartitioner& min_size = partitioner.min_size();
      CAIRN_RETURN_IF_ERROR(CheckRange("partitioner.min_size.min_shard_bytes",
                                       min_size.has_min_shard_bytes(), min_size.min_shard_bytes(),
                                       1, kBytesMax));
      return CheckRange("partitioner.min_size.max_shards", min_size.has_max_shards(),
                        min_size.max_shards(), 1, cluster::kShardsMax);
    }
    case proto::Partitioner::kMaxSize: {
      const proto::MaxSizePartitioner& max_size = partitioner.max_size();
      if (max_size.max_shard_bytes() == 0) {
        return BadField("partitioner.max_size.max_shard_bytes",
                        "is missing or 0; say the largest size of a shard, such as 1048576");
      }
      CAIRN_RETURN_IF_ERROR(CheckRange("partitioner.max_size.max_shard_bytes", true,
                                       max_size.max_shard_bytes(), 1, kBytesMax));
      return CheckRange("partitioner.max_size.max_shards", max_size.has_max_shards(),
                        max_size.max_shards(), 1, cluster::kShardsMax);
    }
    case proto::Partitioner::KIND_NOT_SET:
      break;
  }
  return absl::OkStatus();
}

int64_t ShardsOf(const proto::Partitioner& partitioner, absl::Span<const int64_t> shape,
                 int ps_count) {
  // PlaceVariables refuses larger and empty shapes; until then products must not overflow.
  const int64_t rows = shape.empty() ? 1 : std::max<int64_t>(1, shape[0]);
  int64_t row_bytes = sizeof(float);
  for (size_t axis = 1; axis < shape.size(); ++axis) {
    const int64_t dimension = std::max<int64_t>(1, shape[axis]);
    row_bytes = dimension > kBytesMax / row_bytes ? kBytesMax : row_bytes * dimension;
  }
  const int64_t bytes = rows > kBytesMax / row_bytes ? kBytesMax : rows * row_bytes;
  int64_t shards = 1;
  switch (partitioner.kind_case()) {
    case proto::Partitioner::kMinSliceBytes:
    case proto::Partitioner::KIND_NOT_SET: {
      const int64_t least =
          partitioner.has_min_slice_bytes() ? partitioner.min_slice_bytes() : kDefaultBytes;
      shards = bytes >= least ? ps_count : 1;
      break;
    }
    case proto::Partitioner::kFixedShards:
      shards = partitioner.fixed_shards();
      break;
    case proto::Partitioner::kMinSize: {
      const proto::MinSizePartitioner& min_size = partitioner.min_size();
      const int64_t least =
          min_size.has_min_shard_bytes() ? min_size.min_shard_bytes() : kDefaultBytes;
      const int64_t most = min_size.has_max_shards() ? min_size.max_shards() : 1;
      // Rounded up, so the shards may be smaller than `least`, as in TensorFlow.
      shards = std::min(most, CeilDivide(bytes, least));
      break;
    }
    case proto::Partitioner::kMaxSize: {
      const proto::MaxSizePartitioner& max_size = partitioner.max_size();
      const int64_t rows_of_shard = std::max<int64_t>(1, max_size.max_shard_bytes() / row_bytes);
      shards = CeilDivide(rows, rows_of_shard);
      if (max_size.has_max_shards()) shards = std::min(shards, max_size.max_shards());
      break;
    }
  }
  return std::clamp<int64_t>(shards, 1, rows);
}

std::string PartitionerText(const proto::Partitioner& partitioner) {
  switch (partitioner.kind_case()) {
    case proto::Partitioner::kFixedShards:
      return absl::StrCat("fixed_shards ", partitioner.fixed_shards());
    case proto::Partitioner::kMinSize: {
      const proto::MinSizePartitioner& min_size = partitioner.min_size();
      return absl::StrCat(
          "min_size: min_shard_bytes ",
          min_size.has_min_shard_bytes() ? min_size.min_shard_bytes() : kDefaultBytes,
          ", max_shards ", min_size.has_max_shards() ? min_size.max_shards() : 1);
    }
    case proto::Partitioner::kMaxSize: {
      const proto::MaxSizePartitioner& max_size = partitioner.max_size();
      return absl::StrCat(
          "max_size: max_shard_bytes ", max_size.max_shard_bytes(),
          max_size.has_max_shards() ? absl::StrCat(", max_shards ", max_size.max_shards()) : "");
    }
    case proto::Partitioner::kMinSliceBytes:
    case proto::Partitioner::KIND_NOT_SET:
      break;
  }
  return absl::StrCat("min_slice_bytes ", partitioner.has_min_slice_bytes()
                                              ? partitioner.min_slice_bytes()
                                              : kDefaultBytes);
}

cluster::Placement PlacementOf(const proto::Partitioner& partitioner) {
  return partitioner.placement() == "round_robin" ? cluster::Placement::kRoundRobin
                                                  : cluster::Placement::kBalanced;
}

}  // namespace cairn::job
