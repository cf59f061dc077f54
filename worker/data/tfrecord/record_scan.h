#ifndef CAIRN_WORKER_DATA_TFRECORD_RECORD_SCAN_H_
#define CAIRN_WORKER_DATA_TFRECORD_RECORD_SCAN_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/data/features/feature_values.h"
#include "worker/data/row_condition.h"
#include "worker/data/tfrecord/example_parser.h"

namespace cairn::worker {

// Reads features of the records of TFRecord files that filters keep. Immutable, thread-safe.
class RecordScan {
 public:
  // Records for which a filter of `condition` is not true are not visited, unless it needs all
  // rows. Null: there are no filters.
  RecordScan(const std::vector<ExampleParser::Wanted>& features,
             std::shared_ptr<const RowCondition> condition);

  // `values` begins with those of the features, in their order. `passed`: as RowCondition::Passed.
  using Visit = absl::FunctionRef<absl::Status(
      std::string_view record, const std::vector<FeatureValues>& values, int passed)>;
  // `error` names the file, the record and its offset. An error that it returns ends the scan.
  using OnDamage = absl::FunctionRef<absl::Status(const std::string& error)>;
  // Visits the records of a file in order. Calls `on_damage` for records that cannot be read, and
  // for those whose visit returns InvalidArgument. Other errors as RecordReader.
  absl::Status ForEach(const std::string& path, Visit visit, OnDamage on_damage) const;

  // Whether all filters are true.
  bool Keeps(int passed) const { return condition_ == nullptr || passed == condition_->filters(); }

 private:
  absl::StatusOr<int> Passed(const std::vector<FeatureValues>& values) const;

  const size_t features_;
  const std::shared_ptr<const RowCondition> condition_;
  const std::unique_ptr<const ExampleParser> parser_;  // Of the features, then of the condition.
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_TFRECORD_RECORD_SCAN_H_
