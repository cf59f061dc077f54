#ifndef CAIRN_WORKER_DATA_TFRECORD_TFRECORD_ENCODER_H_
#define CAIRN_WORKER_DATA_TFRECORD_TFRECORD_ENCODER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/signature.h"
#include "proto/job.pb.h"
#include "worker/data/features/feature_encoder.h"
#include "worker/data/files/data_storage.h"
#include "worker/data/label_spec.h"
#include "worker/data/row_condition.h"
#include "worker/data/tfrecord/record_scan.h"

namespace cairn::worker {

// Encodes the records of TFRecord files as rows of numbers. Immutable, thread-safe.
class TfrecordEncoder : public FeatureEncoder {
 public:
  // `source` is a TFRecord source that names its features, and `plan` has the vocabularies that it
  // leaves open. `labels` has the valid labels of each output; if it is empty, there are no targets
  // of labels. Records for which a filter of `condition`, which is that of the source, is not true
  // are left out or, if it needs all rows, zeros. Null: there are no filters.
  TfrecordEncoder(const proto::DataSource& source, const proto::DataPlan& plan,
                  const nn::Signature& model, const std::vector<LabelSpec>& labels,
                  std::shared_ptr<const RowCondition> condition = nullptr);

  // Damaged records, and those with invalid values, are skipped if the source allows any; the
  // caller checks their number. InvalidArgument otherwise: names the file, the record and its
  // offset, the feature and the value. Other errors as RecordReader and Spool.
  absl::StatusOr<EncodedFile> ReadFile(const std::string& path, DataStorage* storage) const;

 private:
  const bool skips_damaged_;
  const RecordScan scan_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_TFRECORD_TFRECORD_ENCODER_H_
