#ifndef CAIRN_TESTS_COORDINATOR_TRAINING_METRIC_PLAN_H_
#define CAIRN_TESTS_COORDINATOR_TRAINING_METRIC_PLAN_H_

#include <google/protobuf/util/json_util.h>

#include <string>
#include <vector>

#include "common/check.h"
#include "proto/job.pb.h"

namespace cairn::coordinator {

// The plan of a job with one sigmoid output and these metrics: epochs of 10 batches.
inline proto::JobPlan MetricPlan(const std::vector<std::string>& metrics,
                                 int64_t total_batches = 100) {
  proto::JobPlan plan;
  plan.set_job_id(1);
  plan.set_batches_per_epoch(10);
  plan.set_total_batches(total_batches);
  const char* const model = R"({
    "inputs": ["in"], "outputs": ["out"],
    "layers": [
      {"name": "in", "class_name": "InputLayer", "config": {"batch_shape": [null, 3]}},
      {"name": "out", "class_name": "Dense", "inputs": ["in"],
       "config": {"units": 1, "activation": "sigmoid"}}]})";
  CAIRN_CHECK(google::protobuf::util::JsonStringToMessage(model, plan.mutable_model()).ok());
  plan.mutable_job()->mutable_loss()->set_name("binary_crossentropy");
  for (const std::string& metric : metrics) plan.mutable_job()->add_metrics(metric);
  return plan;
}

}  // namespace cairn::coordinator

#endif  // CAIRN_TESTS_COORDINATOR_TRAINING_METRIC_PLAN_H_
