#include "tests/parameters/test_job.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "cluster/partition_map.h"
#include "nn/model.h"

namespace cairn::parameters {

namespace {

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::cerr << "the tests' job is wrong: " << value.status() << std::endl;
  std::abort();
}

void AddLayer(proto::ModelSpec* model, const std::string& name, const std::string& class_name,
              const std::string& config) {
  proto::LayerSpec& layer = *model->add_layers();
  layer.set_name(name);
  layer.set_class_name(class_name);
  if (!google::protobuf::util::JsonStringToMessage(config, layer.mutable_config()).ok()) {
    std::abort();
  }
  const int previous = model->layers_size() - 2;
  if (previous >= 0) layer.add_inputs(model->layers(previous).name());
}

proto::ModelSpec MakeModel(const TestJobOptions& options) {
  proto::ModelSpec model;
  AddLayer(&model, "input", "InputLayer", R"({"batch_shape": [null, 4]})");
  AddLayer(&model, "hidden", "Dense",
           absl::StrCat(R"({"units": )", options.hidden_units, R"(, "kernel_constraint": )",
                        options.kernel_constraint, "}"));
  AddLayer(&model, "norm", "BatchNormalization", R"({"momentum": 0.5})");
  AddLayer(&model, "frozen", "Dense", R"({"units": 3, "trainable": false})");
  model.add_inputs("input");
  model.add_outputs("frozen");
  return model;
}

proto::PartitionMap Partition(const nn::Model& model, int ps_count) {
  std::vector<cluster::VariableExtent> extents;
  for (const nn::VariableSpec& variable : model.variables()) {
    extents.push_back({variable.name, variable.shape,
                       variable.update != nn::VariableSpec::Update::kFrozen, ps_count,
                       variable.constraint.needs_all_rows()});
  }
  return OrDie(cluster::PlaceVariables(extents, ps_count, cluster::Placement::kBalanced));
}

}  // namespace

proto::JobPlan MakePlan(const TestJobOptions& options) {
  proto::JobPlan plan;
  plan.set_job_id(options.job_id);
  plan.mutable_job()->mutable_optimizer()->set_name(options.optimizer);
  plan.mutable_job()->mutable_optimizer()->set_learning_rate(options.learning_rate);
  if (options.global_clipnorm > 0) {
    plan.mutable_job()->mutable_optimizer()->set_global_clipnorm(options.global_clipnorm);
  }
  *plan.mutable_model() = MakeModel(options);
  *plan.mutable_partition() = Partition(*OrDie(nn::Model::Create(plan.model())), options.ps_count);
  plan.set_weights_uploaded(options.weights_uploaded);
  plan.set_batch_size(options.batch_size);
  plan.set_batches_per_epoch(options.batches_per_epoch);
  plan.set_total_batches(options.total_batches);
  plan.set_synchronous(options.synchronous);
  plan.set_batches_per_update(options.batches_per_update);
  plan.set_window(options.synchronous ? 0 : options.window);
  plan.set_seed(11);
  return plan;
}

std::shared_ptr<const JobLayout> MakeLayout(const TestJobOptions& options) {
  const proto::JobPlan plan = MakePlan(options);
  return OrDie(
      JobLayout::Create(plan, OrDie(nn::Model::Create(plan.model()))->variables(), options.ps));
}

int PositionOf(const JobLayout& layout, const std::string& variable) {
  for (size_t position = 0; position < layout.blocks().size(); ++position) {
    if (layout.variables()[layout.blocks()[position].variable].name == variable) {
      return static_cast<int>(position);
    }
  }
  std::cerr << "no block of " << variable << std::endl;
  std::abort();
}

BlockBuffer Filled(BufferPool* pool, int64_t count, float value) {
  BlockBuffer buffer = pool->Allocate(count);
  std::fill_n(buffer.data(), count, value);
  return buffer;
}

std::vector<float> Values(const BlockBuffer& buffer) {
  return std::vector<float>(buffer.data(), buffer.data() + buffer.count());
}

}  // namespace cairn::parameters
