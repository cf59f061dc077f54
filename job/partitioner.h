#ifndef CAIRN_JOB_PARTITIONER_H_
#define CAIRN_JOB_PARTITIONER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cluster/partition_map.h"
#include "proto/job.pb.h"

namespace cairn::job {

// A job's "partitioner". The numbers of shards are those of TensorFlow's
// tf.distribute.experimental.partitioners, along the first axis.

// The ranges of its fields.
absl::Status CheckPartitioner(const proto::Partitioner& partitioner);

// The number of shards of a float32 variable of this shape in a cluster of `ps_count` ps, from 1 to
// its number of rows. Requires CheckPartitioner.
int64_t ShardsOf(const proto::Partitioner& partitioner, absl::Span<const int64_t> shape,
                 int ps_count);

// "min_slice_bytes 262144", "min_size: min_shard_bytes 262144, max_shards 1": with defaults.
std::string PartitionerText(const proto::Partitioner& partitioner);

cluster::Placement PlacementOf(const proto::Partitioner& partitioner);

}  // namespace cairn::job

#endif  // CAIRN_JOB_PARTITIONER_H_
