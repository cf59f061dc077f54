#include "tests/worker/counting_plan.h"

#include <google/protobuf/util/json_util.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cluster/partition_map.h"
#include "common/check.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

void AddLayer(proto::ModelSpec* model, const std::string& name, const std::string& class_name,
              const std::string& config) {
  proto::LayerSpec& layer = *model->add_layers();
  layer.set_name(name);
  layer.set_class_name(class_name);
  CAIRN_CHECK(google::protobuf::util::JsonStringToMessage(config, layer.mutable_config()).ok());
}

proto::ModelSpec CountingModel(int64_t rows, bool frozen_layer) {
  proto::ModelSpec model;
  AddLayer(&model, "in", "InputLayer", absl::StrCat(R"({"batch_shape": [null, )", rows, "]}"));
  AddLayer(&model, "counter", "Dense",
           R"({"units": 1, "use_bias": false, "kernel_initializer": "zeros"})");
  model.mutable_layers(1)->add_inputs("in");
  model.add_inputs("in");
  model.add_outputs(frozen_layer ? "frozen" : "counter");
  if (!frozen_layer) return model;
  AddLayer(&model, "frozen", "Dense",
           R"({"units": 1, "use_bias": false, "kernel_initializer": "ones", "trainable": false})");
  model.mutable_layers(2)->add_inputs("counter");
  return model;
}

proto::DataSource CountingData(int64_t examples, int64_t rows) {
  using cairn::testing::NpyBytes;
  using cairn::testing::Raw;
  using cairn::testing::WriteDataFile;
  proto::DataSource source;
  source.mutable_npy()->add_features(
      WriteDataFile("counting_x.npy", NpyBytes("<f4", absl::StrCat("(", examples, ", ", rows, ")"),
                                               Raw(std::vector<float>(examples * rows, 1.0f)))));
  source.mutable_npy()->add_labels(
      WriteDataFile("counting_y.npy", NpyBytes("<f4", absl::StrCat("(", examples, ", 1)"),
                                               Raw(std::vector<float>(examples, -1e30f)))));
  return source;
}

}  // namespace

proto::JobPlan CountingPlan(const CountingOptions& options) {
  proto::JobPlan plan;
  plan.set_job_id(options.job_id);
  const int64_t examples = options.batches_per_epoch * options.batch_size;
  proto::Job& job = *plan.mutable_job();
  *job.mutable_train() = CountingData(examples, options.rows);
  if (options.validation) *job.mutable_validation() = job.train();
  job.mutable_loss()->set_name("mean_absolute_error");
  job.mutable_optimizer()->set_name("sgd");
  job.mutable_optimizer()->set_learning_rate(1);
  if (options.clipnorm > 0) job.mutable_optimizer()->set_clipnorm(options.clipnorm);
  *plan.mutable_model() = CountingModel(options.rows, options.frozen_layer);
  plan.set_examples(examples);
  if (options.validation) plan.set_validation_examples(examples);
  plan.set_batch_size(options.batch_size);
  plan.set_batches_per_epoch(options.batches_per_epoch);
  plan.set_total_batches(options.batches_per_epoch * options.epochs);
  plan.set_synchronous(options.synchronous);
  plan.set_batches_per_update(options.batches_per_update);
  plan.set_window(options.synchronous ? 0 : options.window);
  std::vector<cluster::VariableExtent> variables = {
      {"counter/kernel", {options.rows, 1}, true, options.ps_count}};
  if (options.frozen_layer) variables.push_back({"frozen/kernel", {1, 1}, false});
  const auto partition =
      cluster::PlaceVariables(variables, options.ps_count, cluster::Placement::kBalanced);
  CAIRN_CHECK(partition.ok());
  *plan.mutable_partition() = *partition;
  return plan;
}

}  // namespace cairn::worker
