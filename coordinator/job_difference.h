#ifndef CAIRN_COORDINATOR_JOB_DIFFERENCE_H_
#define CAIRN_COORDINATOR_JOB_DIFFERENCE_H_

#include <string>

#include "proto/job.pb.h"
#include "proto/model.pb.h"

namespace cairn::coordinator {

// Lists the fields in which two jobs and their models differ, with both values, for messages:
// "optimizer.learning_rate: 0.1 -> 0.01; the model's layers[2].name: ...". Empty if they are equal.
std::string JobDifference(const proto::Job& old_job, const proto::ModelSpec& old_model,
                          const proto::Job& new_job, const proto::ModelSpec& new_model);

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_JOB_DIFFERENCE_H_
