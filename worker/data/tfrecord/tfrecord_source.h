#ifndef CAIRN_WORKER_DATA_TFRECORD_TFRECORD_SOURCE_H_
#define CAIRN_WORKER_DATA_TFRECORD_TFRECORD_SOURCE_H_

#include "absl/status/statusor.h"
#include "worker/data/data_reader.h"

namespace cairn::worker {

// Reads a source of TFRecord files, whose rows follow each other. If the plan has an index of the
// files, none is opened: a file is read when one of its rows is used for the first time, and its
// encoded rows are kept, in memory or in a spool file. It must then be the file that was inspected
// (DataLoss). Files without records are allowed, unless there is no record at all.
// InvalidArgument: as TfrecordEncoder, or more records are damaged than may be skipped.
absl::StatusOr<SourceArrays> ReadTfrecord(const ReadRequest& request);

// As DataReader::survey. Errors as ReadTfrecord.
absl::StatusOr<SourceArrays> SurveyTfrecord(const ReadRequest& request);

// Finds the names or tokens of the features that have no vocabulary in the job file.
absl::StatusOr<proto::DataFindings> SearchTfrecord(const proto::DataSource& train,
                                                   const SourceFiles& files,
                                                   const ChooseTrainingRows& choose);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_TFRECORD_TFRECORD_SOURCE_H_
