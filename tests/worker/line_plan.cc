#include "tests/worker/line_plan.h"

#include <google/protobuf/util/json_util.h>

#include <numeric>
#include <utility>

#include "gtest/gtest.h"
#include "tests/nn/test_model.h"
#include "tests/worker/data/data_files.h"
#include "worker/job_inspection.h"
#include "worker/job_model.h"

namespace cairn::worker {

using cairn::testing::NpyBytes;
using cairn::testing::Raw;
using cairn::testing::WriteDataFile;

proto::Inspect InspectOf(const proto::JobPlan& plan) {
  proto::Inspect inspect;
  inspect.set_job_id(plan.job_id());
  *inspect.mutable_job() = plan.job();
  *inspect.mutable_model() = plan.model();
  return inspect;
}

proto::JobPlan Planned(proto::JobPlan plan) {
  const proto::InspectReply reply = InspectJob(InspectOf(plan), {});
  EXPECT_EQ(reply.error(), "");
  plan.set_examples(reply.examples());
  plan.set_validation_examples(reply.validation_examples());
  *plan.mutable_data() = reply.data();
  return plan;
}

JobData Open(const proto::JobPlan& plan) {
  auto data = LoadJobData(plan, *JobModel::Create(plan.job(), plan.model()), {}, true, true);
  EXPECT_TRUE(data.ok()) << data.status();
  return *std::move(data);
}

std::string OpenError(const proto::JobPlan& plan) {
  return std::string(LoadJobData(plan, *JobModel::Create(plan.job(), plan.model()), {}, true, true)
                         .status()
                         .message());
}

proto::JobPlan LinePlan(const std::string& job) {
  proto::JobPlan plan;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(job, plan.mutable_job()).ok()) << job;
  plan.mutable_job()->mutable_loss()->set_name("mse");
  *plan.mutable_model() = nn::testing::SpecOf(
      {{"in", "InputLayer", R"({"batch_shape": [null, 1]})"}, {"out", "Dense", R"({"units": 1})"}});
  return plan;
}

std::vector<float> InputsOf(const Dataset& data) {
  std::vector<int64_t> indices(data.examples());
  std::iota(indices.begin(), indices.end(), 0);
  std::vector<float> values(indices.size());
  EXPECT_TRUE(data.ReadInput(0, indices, values.data()).ok());
  return values;
}

std::string Quoted(const std::string& path) { return "\"" + path + "\""; }

std::string TenNumbers(const std::string& more) {
  std::vector<float> numbers(10);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  const std::string file = WriteDataFile("ten.npy", NpyBytes("<f4", "(10, 1)", Raw(numbers)));
  return R"({"train": {"npy": {"features": [)" + Quoted(file) + R"(], "labels": [)" + Quoted(file) +
         "]}" + more + "}";
}

std::string NumbersFrom(int first, int count) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), static_cast<float>(first));
  const std::string file =
      Quoted(WriteDataFile("from" + std::to_string(first) + ".npy",
                           NpyBytes("<f4", "(" + std::to_string(count) + ", 1)", Raw(numbers))));
  return R"({"npy": {"features": [)" + file + R"(], "labels": [)" + file + "]}";
}

std::string MixOf(const std::string& first_weight, const std::string& second_weight) {
  return R"({"mix": [{"source": )" + NumbersFrom(0, 4) + R"(, "scale": 10})" + first_weight +
         R"(}, {"source": )" + NumbersFrom(100, 20) + R"(, "pipeline": [{"take": 8}]})" +
         second_weight + "}]}";
}

}  // namespace cairn::worker
