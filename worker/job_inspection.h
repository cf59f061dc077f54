#ifndef CAIRN_WORKER_JOB_INSPECTION_H_
#define CAIRN_WORKER_JOB_INSPECTION_H_

#include "proto/coordinator.pb.h"
#include "worker/data/files/data_storage.h"

namespace cairn::worker {

// Reads all of the job's data once, before the job starts, or a part of the files for a survey, or
// a part of the examples. The reply has the number of examples and everything that depends on the
// data and must be the same on all workers: vocabularies, means and the rows for validation. Errors
// are in the reply.
proto::InspectReply InspectJob(const proto::Inspect& inspect, const DataStorage::Options& storage);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_JOB_INSPECTION_H_
