#include "nn/executor.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "nn/all_finite.h"
#include "nn/plan/gradient_layout.h"

namespace cairn::nn {
namespace {

// Keeps sizes in bytes within int64 (see kTensorElementsMax).
constexpr int64_t kBatchSizeMax = int64_t{1} << 20;
// Training uses two batch sizes, because the last batch of an epoch is smaller. Evaluation may add
// two more.
constexpr size_t kPlansMax = 4;

// The backward pass divides by this power of two instead of the batch size; FinishGradients turns
// the result into a mean. Division by a power of two is exact, so a sum of whole numbers stays
// exact for every batch size: a weight that counts examples has a gradient of exactly 1.
int64_t GradientDivisor(int64_t batch_size) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(batch_size)));
}

// Keras's initial scale is the first. The others are so far apart that a batch is computed four
// times at most. Their products and quotients are exact, but for underflow and overflow.
constexpr float kFirstLossScale = 0x1p15f;
constexpr float kLossScaleStep = 0x1p5f;

bool TakesLogits(const Loss& loss, const Layer& layer) {
  return !layer.is_view() && loss.TakesLogitsOf(layer.activation().kind);
}

// A penalty of the output is a consumer.
bool HasConsumers(const Model& model, int node) {
  return !model.nodes()[node].layer->activity_regularizer().empty() ||
         absl::c_any_of(model.nodes(), [node](const Model::Node& consumer) {
           return absl::c_linear_search(consumer.inputs, node);
         });
}

}  // namespace

Executor::Executor(const Model* model, const Objective* objective, const Options& options,
                   Device* device)
    : model_(model),
      objective_(objective != nullptr ? *objective : no_objective_),
      options_(options),
      device_(device),
      flow_(*model, options.trained),
      fusion_(*model, *device),
      stages_(model->nodes().size()) {
  for (size_t i = 0; i < objective_.losses().size(); ++i) {
    const int node = model->outputs()[i].node;
    const Loss& loss = *objective_.losses()[i].loss;
    const Layer& layer = *model->nodes()[node].layer;
    Stage& stage = stages_[node];
    const bool takes_logits = TakesLogits(loss, layer);
    stage.fuses_loss = takes_logits && !HasConsumers(*model, node);
    stage.splits_gradient = takes_logits && !stage.fuses_loss;
    stage.keeps_logits =
        takes_logits ||
        absl::c_any_of(objective_.metrics(), [&](const Objective::OutputMetric& metric) {
          const Loss* const mean_of = metric.metric->spec().loss;
          return metric.output == static_cast<int>(i) && mean_of != nullptr &&
                 TakesLogits(*mean_of, layer);
        });
  }
  // FindPlan returns pointers into the vector, so it must not reallocate.
  plans_.reserve(kPlansMax);
}

Executor::~Executor() = default;

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(const Model* model,
                                                           const Objective* objective,
                                                           const Options& options, Device* device) {
  CAIRN_CHECK(objective == nullptr || objective->losses().empty() ||
              objective->losses().size() == model->outputs().size());
  if (options.batch_size < 1 || options.batch_size > kBatchSizeMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch size ", options.batch_size, " is not from 1 to ", kBatchSizeMax));
  }
  if (options.threads < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the number of threads is ", options.threads, "; it must be at least 1"));
  }
  // Must precede the creation of kernels: oneDNN partitions its work for the number of threads at
  // that time.
  device->UseThreads(options.threads);
  std::unique_ptr<Executor> executor(new Executor(model, objective, options, device));
  CAIRN_RETURN_IF_ERROR(executor->AllocateVariables());
  if (options.variables_only) return executor;
  CAIRN_RETURN_IF_ERROR(executor->AllocateOutputs());
  if (options.training) CAIRN_RETURN_IF_ERROR(executor->AllocateGradients());
  CAIRN_RETURN_IF_ERROR(executor->CreateLossKernels());
  if (!device->memory_is_host()) CAIRN_RETURN_IF_ERROR(executor->AllocateBatch());
  CAIRN_RETURN_IF_ERROR(executor->FindPlan(options.batch_size).status());
  return executor;
}

absl::StatusOr<float*> Executor::Allocate(int64_t count) {
  CAIRN_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::Create(device_, count));
  memory_.push_back(std::move(buffer));
  return memory_.back().data();
}

absl::Status Executor::AllocateVariables() {
  for (size_t v = 0; v < model_->variables().size(); ++v) {
    const VariableSpec& variable = model_->variables()[v];
    const int64_t count = variable.element_count();
    if (options_.values_of != nullptr) {
      values_.push_back(options_.values_of->values_[options_.shared_variables[v]]);
    } else {
      CAIRN_ASSIGN_OR_RETURN(float* values, Allocate(count));
      CAIRN_RETURN_IF_ERROR(device_->Zero(values, count * sizeof(float)));
      values_.push_back(values);
    }
    float* gradient = nullptr;
    if (options_.training && variable.update != VariableSpec::Update::kFrozen && IsTrained(v)) {
      CAIRN_ASSIGN_OR_RETURN(gradient, Allocate(count));
      CAIRN_RETURN_IF_ERROR(device_->Zero(gradient, count * sizeof(float)));
    }
    gradients_.push_back(gradient);
  }
  if (!device_->memory_is_host()) {
    host_variables_ = std::vector<HostVariable>(values_.size());
    for (size_t v = 0; v < values_.size(); ++v) {
      const int64_t count = model_->variables()[v].element_count();
      CAIRN_ASSIGN_OR_RETURN(host_variables_[v].values, HostBuffer<float>::Create(device_, count));
      const absl::Span<float> values = host_variables_[v].values.values();
      std::fill(values.begin(), values.end(), 0.0f);
      if (gradients_[v] == nullptr) continue;
      CAIRN_ASSIGN_OR_RETURN(host_variables_[v].gradient,
                             HostBuffer<float>::Create(device_, count));
    }
  }
  return BindVariables();
}

// Assigns each node the buffers of its variables' values and gradients. Several nodes may share a
// variable (calls of one layer). The backward pass reaches the last of them first: that one writes
// the gradient. The others write to an extra buffer, which FinishGradients adds.
absl::Status Executor::BindVariables() {
  std::vector<bool> has_writer(values_.size(), false);
  std::vector<float*> extra_gradients(values_.size(), nullptr);
  for (int i = static_cast<int>(stages_.size()) - 1; i >= 0; --i) {
    const Model::Node& node = model_->nodes()[i];
    for (size_t v = 0; v < node.layer->variables().size(); ++v) {
      const size_t variable = node.first_variable + v;
      float* gradient = gradients_[variable];
      if (gradient != nullptr && has_writer[variable]) {
        if (extra_gradients[variable] == nullptr) {
          const int64_t count = model_->variables()[variable].element_count();
          CAIRN_ASSIGN_OR_RETURN(extra_gradients[variable], Allocate(count));
        }
        gradient = extra_gradients[variable];
      }
      has_writer[variable] = true;
      stages_[i].variables.push_back(values_[variable]);
      stages_[i].variable_gradients.push_back(gradient);
    }
  }
  BindFusedVariables();
  return absl::OkStatus();
}

// The kernel of a fused pair receives the variables of both layers, those of the first layer first.
void Executor::BindFusedVariables() {
  for (size_t i = 0; i < stages_.size(); ++i) {
    if (fusion_.next[i] < 0) continue;
    const Stage& second = stages_[fusion_.next[i]];
    Stage& first = stages_[i];
    first.variables.insert(first.variables.end(), second.variables.begin(), second.variables.end());
    first.variable_gradients.insert(first.variable_gradients.end(),
                                    second.variable_gradients.begin(),
                                    second.variable_gradients.end());
  }
}

absl::Status Executor::AllocateOutputs() {
  for (size_t i = 0; i < stages_.size(); ++i) {
    const Model::Node& node = model_->nodes()[i];
    stages_[i].inputs.resize(node.inputs.size());
    stages_[i].masks.resize(node.masks.size());
    // Model inputs and views of them live in the batch's own arrays (see BindInputs). The tensor
    // between the layers of a fused pair is never stored.
    if (node.inputs.empty() || node.layer->is_view() || fusion_.next[i] >= 0) continue;
    const int64_t count = options_.batch_size * ElementCount(node.layer->output().shape);
    CAIRN_ASSIGN_OR_RETURN(stages_[i].output, Allocate(count));
    if (stages_[i].keeps_logits) {
      CAIRN_ASSIGN_OR_RETURN(stages_[i].logits, Allocate(count));
    }
    if (node.writes_mask) {
      CAIRN_ASSIGN_OR_RETURN(float* const mask,
                             Allocate(options_.batch_size * node.layer->output().shape[0]));
      stages_[i].mask_output = reinterpret_cast<int32_t*>(mask);
    }
    if (fusion_.is_second(i)) stages_[fusion_.previous[i]].output = stages_[i].output;
  }
  return absl::OkStatus();
}

absl::Status Executor::AllocateGradients() {
  // One allocation holds all gradients of outputs. Gradients that are not live at the same time
  // share memory.
  const GradientLayout layout(*model_, flow_, fusion_, options_.batch_size);
  CAIRN_ASSIGN_OR_RETURN(float* const memory, Allocate(layout.size));
  const auto at = [memory](int64_t place) { return place < 0 ? nullptr : memory + place; };
  for (size_t i = 0; i < stages_.size(); ++i) {
    stages_[i].output_gradient = at(layout.outputs[fusion_.tail(i)]);
    for (int64_t place : layout.inputs[i]) stages_[i].input_gradients.push_back(at(place));
    if (stages_[i].splits_gradient) {
      const int64_t count =
          options_.batch_size * ElementCount(model_->nodes()[i].layer->output().shape);
      CAIRN_ASSIGN_OR_RETURN(stages_[i].logits_gradient, Allocate(count));
    }
  }
  return absl::OkStatus();
}

// One array holds all results of a batch's loss, so that one copy brings them to the host.
absl::Status Executor::CreateLossKernels() {
  int64_t count = 1;
  for (size_t output = 0; output < objective_.losses().size(); ++output) {
    std::vector<const Metric*> metrics;
    ++count;
    for (const Objective::OutputMetric& metric : objective_.metrics()) {
      if (metric.output != static_cast<int>(output)) continue;
      metrics.push_back(metric.metric.get());
      count += metric.metric->state_size();
    }
    CAIRN_ASSIGN_OR_RETURN(
        std::unique_ptr<LossKernel> kernel,
        device_->CreateLossKernel(*objective_.losses()[output].loss, std::move(metrics)));
    loss_kernels_.push_back(std::move(kernel));
  }
  for (const Model::Node& node : model_->nodes()) {
    // As in Keras, also if the layer is frozen, and in each call of a shared layer.
    if (!node.layer->activity_regularizer().empty()) ++count;
    for (size_t v = 0; v < node.layer->variables().size(); ++v) {
      const LayerVariable& variable = node.layer->variables()[v];
      // A shared variable is penalized once. As in Keras, frozen variables are not penalized.
      if (variable.regularizer.empty() || node.owner >= 0) continue;
      if (variable.spec.update != VariableSpec::Update::kOptimized) continue;
      if (!IsTrained(node.first_variable + v)) continue;
      penalties_.push_back({node.first_variable + static_cast<int>(v), variable.regularizer});
      ++count;
    }
  }
  CAIRN_ASSIGN_OR_RETURN(host_results_, HostBuffer<double>::Create(device_, count));
  static_assert(sizeof(double) == 2 * sizeof(float));
  CAIRN_ASSIGN_OR_RETURN(float* const memory, Allocate(2 * count));
  device_results_ = reinterpret_cast<double*>(memory);
  return absl::OkStatus();
}

// Ids and class labels are as large as floats.
absl::Status Executor::AllocateBatch() {
  static_assert(sizeof(int32_t) == sizeof(float));
  for (const Model::Input& input : model_->inputs()) {
    CAIRN_ASSIGN_OR_RETURN(float* const memory,
                           Allocate(options_.batch_size * ElementCount(input.spec.shape)));
    staged_.inputs.push_back(memory);
  }
  for (size_t i = 0; i < objective_.losses().size(); ++i) {
    const int64_t labels = objective_.losses()[i].loss->LabelCount(model_->outputs()[i].shape);
    CAIRN_ASSIGN_OR_RETURN(float* const memory, Allocate(options_.batch_size * labels));
    staged_.labels.push_back(memory);
  }
  CAIRN_ASSIGN_OR_RETURN(staged_.weights, Allocate(options_.batch_size));
  return absl::OkStatus();
}

absl::StatusOr<Executor::Plan*> Executor::FindPlan(int64_t batch_size) {
  for (Plan& plan : plans_) {
    if (plan.batch_size != batch_size) continue;
    plan.last_use = ++forward_count_;
    return &plan;
  }
  // A new batch size: create the kernels first, so that a failure leaves the other plans intact.
  Plan plan{.batch_size = batch_size, .last_use = ++forward_count_};
  for (size_t i = 0; i < stages_.size(); ++i) {
    const Model::Node& node = model_->nodes()[i];
    std::unique_ptr<Kernel> kernel;
    if (!node.inputs.empty() && !node.layer->is_view() && !fusion_.is_second(i)) {
      CAIRN_ASSIGN_OR_RETURN(kernel,
                             device_->CreateKernel(*node.layer, KernelOptions(i, batch_size)));
    }
    plan.kernels.push_back(std::move(kernel));
  }
  // Evict the plan that was not used for the longest time.
  if (plans_.size() == kPlansMax) {
    plans_.erase(std::min_element(plans_.begin(), plans_.end(), [](const Plan& a, const Plan& b) {
      return a.last_use < b.last_use;
    }));
  }
  plans_.push_back(std::move(plan));
  return &plans_.back();
}

Device::KernelOptions Executor::KernelOptions(int node, int64_t batch_size) const {
  const int tail = fusion_.tail(node);
  using GradientWrite = GradientFlow::GradientWrite;
  const bool needs_input_gradient = absl::c_any_of(
      flow_.writes[node], [](GradientWrite write) { return write != GradientWrite::kNone; });
  return {.examples = batch_size,
          .training = options_.training && flow_.needed[tail],
          .needs_input_gradient = needs_input_gradient,
          .next = tail == node ? nullptr : model_->nodes()[tail].layer.get()};
}

absl::Span<float> Executor::values(int variable) {
  if (!host_variables_.empty()) {
    HostVariable& host = host_variables_[variable];
    host.values_changed = true;
    return host.values.values();
  }
  return absl::MakeSpan(values_[variable], model_->variables()[variable].element_count());
}

absl::Span<const float> Executor::gradient(int variable) const {
  if (gradients_[variable] == nullptr) return {};
  if (!host_variables_.empty()) return host_variables_[variable].gradient.values();
  return absl::MakeConstSpan(gradients_[variable], model_->variables()[variable].element_count());
}

absl::Span<float> Executor::mutable_gradient(int variable) {
  CAIRN_CHECK(options_.variables_only && gradients_[variable] != nullptr);
  if (!host_variables_.empty()) return host_variables_[variable].gradient.values();
  return absl::MakeSpan(gradients_[variable], model_->variables()[variable].element_count());
}

absl::Status Executor::UploadValues() {
  if (options_.values_of != nullptr) return options_.values_of->UploadValues();
  for (size_t v = 0; v < host_variables_.size(); ++v) {
    HostVariable& host = host_variables_[v];
    if (!host.values_changed.exchange(false)) continue;
    const absl::Span<const float> values = host.values.values();
    const absl::Status status =
        device_->StartCopyToDevice(values_[v], values.data(), values.size() * sizeof(float));
    if (!status.ok()) host.values_changed = true;
    CAIRN_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

// Returns where the device reads an array of the batch: where the caller has it, or a copy.
absl::StatusOr<const float*> Executor::Upload(const void* array, int64_t count, float* staged) {
  if (device_->memory_is_host()) return static_cast<const float*>(array);
  CAIRN_RETURN_IF_ERROR(device_->CopyToDevice(staged, array, count * sizeof(float)));
  return staged;
}

absl::Status Executor::BindInputs(const Batch& batch) {
  CAIRN_CHECK(batch.inputs.size() == model_->inputs().size());
  for (size_t i = 0; i < batch.inputs.size(); ++i) {
    CAIRN_ASSIGN_OR_RETURN(
        const float* const input,
        Upload(batch.inputs[i], batch.size * ElementCount(model_->inputs()[i].spec.shape),
               staged_.inputs.empty() ? nullptr : staged_.inputs[i]));
    // The const_cast is safe: input nodes have no kernel, so nothing writes through the pointer.
    stages_[model_->input_nodes()[i]].output = const_cast<float*>(input);
  }
  for (size_t i = 0; i < stages_.size(); ++i) {
    const Model::Node& node = model_->nodes()[i];
    for (size_t input = 0; input < node.inputs.size(); ++input) {
      stages_[i].inputs[input] = stages_[node.inputs[input]].output;
    }
    for (size_t input = 0; input < stages_[i].masks.size(); ++input) {
      const int mask = node.masks[input];
      if (mask < 0) continue;
      const Stage& maker = stages_[mask];
      stages_[i].masks[input] = maker.mask_output != nullptr
                                    ? maker.mask_output
                                    : reinterpret_cast<const int32_t*>(maker.output);
    }
    // A view is its input's memory, which may be the batch itself. Nodes are in topological order,
    // so the input's pointer is set by now.
    if (node.layer->is_view()) stages_[i].output = stages_[node.inputs[0]].output;
    stages_[i].random_key = DeriveKey(batch.random_key, node.layer->name());
  }
  return absl::OkStatus();
}

// Labels and weights go to the device before the forward pass: the copies need the host.
absl::Status Executor::BindLabels(const Batch& batch) {
  labels_.clear();
  weights_ = nullptr;
  if (batch.labels.empty() || objective_.losses().empty()) return absl::OkStatus();
  CAIRN_CHECK(batch.labels.size() == objective_.losses().size());
  for (size_t output = 0; output < batch.labels.size(); ++output) {
    const int64_t count =
        objective_.losses()[output].loss->LabelCount(model_->outputs()[output].shape);
    CAIRN_ASSIGN_OR_RETURN(const float* const labels,
                           Upload(batch.labels[output], batch.size * count,
                                  staged_.labels.empty() ? nullptr : staged_.labels[output]));
    labels_.push_back(labels);
  }
  if (batch.weights == nullptr) return absl::OkStatus();
  CAIRN_ASSIGN_OR_RETURN(weights_, Upload(batch.weights, batch.size, staged_.weights));
  return absl::OkStatus();
}

absl::StatusOr<Executor::BatchResults> Executor::Forward(const Batch& batch, bool training) {
  CAIRN_RETURN_IF_ERROR(StartForward(batch, training, FirstLossScale()));
  return TakeResults();
}

ForwardArguments Executor::ForwardArgumentsOf(int node) const {
  const Stage& stage = stages_[node];
  return {.inputs = stage.inputs,
          .output = stage.output,
          .logits = stages_[fusion_.tail(node)].logits,
          .variables = stage.variables,
          .masks = stage.masks,
          .mask_output = stage.mask_output,
          .invalid = device_->memory_is_host() ? nullptr : device_results_,
          .training = training_ && !model_->nodes()[node].layer->inference_only(),
          .random_key = stage.random_key};
}

// The same for each batch: what one batch needed must not change the bits of another one, which any
// worker may compute, again after a crash.
float Executor::FirstLossScale() const {
  const bool is_scaled =
      options_.precision == Precision::kFloat16 && options_.training && device_->rounds_products();
  return is_scaled ? kFirstLossScale : 1;
}

absl::Status Executor::StartForward(const Batch& batch, bool training, float loss_scale) {
  CAIRN_CHECK(batch.size >= 1 && batch.size <= options_.batch_size);
  can_run_backward_ = false;
  device_->UseThreads(options_.threads);
  device_->UsePrecision(options_.precision);
  CAIRN_ASSIGN_OR_RETURN(plan_, FindPlan(batch.size));
  batch_size_ = batch.size;
  loss_scale_ = loss_scale;
  if (loss_scale_ > 1) batch_ = batch;
  training_ = training;
  CAIRN_RETURN_IF_ERROR(UploadValues());
  CAIRN_RETURN_IF_ERROR(BindInputs(batch));
  CAIRN_RETURN_IF_ERROR(BindLabels(batch));
  // Kernels only write 1.
  if (!std::exchange(invalid_is_zero_, false)) {
    CAIRN_RETURN_IF_ERROR(device_->Zero(device_results_, sizeof(double)));
  }
  for (size_t i = 0; i < stages_.size(); ++i) {
    if (plan_->kernels[i] == nullptr) continue;
    const int node = static_cast<int>(i);
    const ScopedSpan span(recorder_, SpanName(node, /*backward=*/false));
    CAIRN_RETURN_IF_ERROR(plan_->kernels[i]->Forward(ForwardArgumentsOf(node)));
  }
  if (!labels_.empty()) CAIRN_RETURN_IF_ERROR(ComputeLoss());
  return StartResults();
}

Loss::Batch Executor::LossBatch(int output) const {
  const Model::Output& place = model_->outputs()[output];
  return {.examples = batch_size_,
          .shape = &place.shape,
          .output = stages_[place.node].output,
          .labels = labels_[output],
          .weights = weights_,
          .logits = stages_[place.node].logits,
          .is_softmax =
              model_->nodes()[place.node].layer->activation().kind == Activation::Kind::kSoftmax,
          .gradient_divisor = GradientDivisor(batch_size_),
          .gradient_scale = loss_scale_ * static_cast<float>(objective_.losses()[output].weight)};
}

absl::Status Executor::ComputeLoss() {
  const ScopedSpan span(recorder_, first_name_ + 2 * static_cast<uint32_t>(stages_.size()));
  can_run_backward_ = training_ && options_.training;
  double* const invalid = device_->memory_is_host() ? nullptr : device_results_;
  double* device_results = device_results_ + 1;
  for (int output = 0; output < static_cast<int>(labels_.size()); ++output) {
    const int node = model_->outputs()[output].node;
    float* gradient = can_run_backward_ ? stages_[node].output_gradient : nullptr;
    if (gradient != nullptr && stages_[node].splits_gradient) {
      // The other consumers add to the gradient with respect to the output.
      const int64_t count = batch_size_ * ElementCount(model_->outputs()[output].shape);
      CAIRN_RETURN_IF_ERROR(device_->Zero(gradient, count * sizeof(float)));
      gradient = stages_[node].logits_gradient;
    }
    CAIRN_RETURN_IF_ERROR(
        loss_kernels_[output]->Compute(LossBatch(output), gradient, device_results, invalid));
    ++device_results;
    for (const Objective::OutputMetric& metric : objective_.metrics()) {
      if (metric.output == output) device_results += metric.metric->state_size();
    }
  }
  for (const Penalty& penalty : penalties_) {
    CAIRN_RETURN_IF_ERROR(device_->Penalty(penalty.regularizer,
                                           model_->variables()[penalty.variable].element_count(),
                                           values_[penalty.variable], device_results++));
  }
  for (size_t i = 0; i < stages_.size(); ++i) {
    const Layer& layer = *model_->nodes()[i].layer;
    if (layer.activity_regularizer().empty()) continue;
    CAIRN_RETURN_IF_ERROR(device_->Penalty(layer.activity_regularizer(),
                                           batch_size_ * ElementCount(layer.output().shape),
                                           stages_[i].output, device_results++));
  }
  return absl::OkStatus();
}

// Without labels only the first number is copied; the others have no values.
absl::Status Executor::StartResults() {
  const absl::Span<double> results = host_results_.values();
  const size_t count = labels_.empty() ? 1 : results.size();
  CAIRN_ASSIGN_OR_RETURN(
      results_copy_,
      device_->StartCopyFromDevice(results.data(), device_results_, count * sizeof(double)));
  return absl::OkStatus();
}

// The order of the results is that of ComputeLoss, and the order of the additions is fixed.
absl::StatusOr<Executor::BatchResults> Executor::TakeResults() {
  CAIRN_RETURN_IF_ERROR(device_->WaitForCopy(results_copy_));
  const absl::Span<const double> all = host_results_.values();
  if (all[0] != 0) {
    can_run_backward_ = false;
    return FindInvalid();
  }
  invalid_is_zero_ = true;
  BatchResults results{.examples = batch_size_};
  if (labels_.empty()) return results;
  const double* result = all.data() + 1;
  results.metrics.resize(objective_.metrics().size());
  for (size_t output = 0; output < objective_.losses().size(); ++output) {
    results.loss_sum += objective_.losses()[output].weight * *result++;
    for (size_t i = 0; i < results.metrics.size(); ++i) {
      const Objective::OutputMetric& metric = objective_.metrics()[i];
      if (metric.output != static_cast<int>(output)) continue;
      results.metrics[i].assign(result, result + metric.metric->state_size());
      result += metric.metric->state_size();
    }
  }
  for (size_t i = 0; i < penalties_.size(); ++i) results.penalty += *result++;
  while (result != all.data() + all.size()) results.loss_sum += *result++;
  return results;
}

// The first error in the order of the layers, as on a device that returns it at once.
absl::Status Executor::FindInvalid() {
  for (size_t i = 0; i < stages_.size(); ++i) {
    if (plan_->kernels[i] == nullptr) continue;
    CAIRN_RETURN_IF_ERROR(plan_->kernels[i]->FindInvalid(ForwardArgumentsOf(static_cast<int>(i))));
  }
  for (size_t output = 0; output < labels_.size(); ++output) {
    CAIRN_RETURN_IF_ERROR(loss_kernels_[output]->FindInvalid(LossBatch(static_cast<int>(output))));
  }
  return absl::InternalError("a kernel refuses the batch without a reason");
}

absl::Status Executor::Backward(absl::FunctionRef<void(int variable)> on_gradient) {
  CAIRN_RETURN_IF_ERROR(StartBackward(on_gradient));
  return TakeGradients(on_gradient);
}

absl::Status Executor::Step(const Batch& batch,
                            absl::FunctionRef<bool(const BatchResults& results)> on_results,
                            absl::FunctionRef<void(int variable)> on_gradient) {
  CAIRN_RETURN_IF_ERROR(StartForward(batch, /*training=*/true, FirstLossScale()));
  // A device that computes on the host has the results already, and may not need the gradients.
  if (device_->memory_is_host()) {
    CAIRN_ASSIGN_OR_RETURN(const BatchResults results, TakeResults());
    return on_results(results) ? Backward(on_gradient) : absl::OkStatus();
  }
  CAIRN_RETURN_IF_ERROR(StartBackward(on_gradient));
  const absl::StatusOr<BatchResults> results = TakeResults();
  if (results.ok() && on_results(*results)) return TakeGradients(on_gradient);
  // The next step overwrites what these copies read.
  bool finite = true;
  const absl::Status taken = WaitForGradients(&finite);
  return results.ok() ? taken : results.status();
}

// Submits the backward pass. If the device's memory is the host's, gradients are reported here;
// otherwise TakeGradients does it.
absl::Status Executor::StartBackward(absl::FunctionRef<void(int variable)> on_gradient) {
  CAIRN_CHECK(can_run_backward_);
  can_run_backward_ = false;
  pending_gradients_.clear();
  device_->UseThreads(options_.threads);
  device_->UsePrecision(options_.precision);
  for (int i = static_cast<int>(stages_.size()) - 1; i >= 0; --i) {
    // The first node of a fused pair runs the backward pass of both. Variables of the second layer
    // are finished first, so gradients are reported from the last layer to the first.
    if (fusion_.is_second(i) || !flow_.needed[fusion_.tail(i)]) continue;
    CAIRN_RETURN_IF_ERROR(RunBackward(i));
    if (fusion_.next[i] >= 0) {
      CAIRN_RETURN_IF_ERROR(FinishGradients(fusion_.next[i], on_gradient));
    }
    CAIRN_RETURN_IF_ERROR(FinishGradients(i, on_gradient));
  }
  return absl::OkStatus();
}

// Waits until all copies of gradients are complete. Sets `finite` to whether all numbers are.
absl::Status Executor::WaitForGradients(bool* finite) {
  *finite = true;
  for (const PendingGradient& pending : pending_gradients_) {
    CAIRN_RETURN_IF_ERROR(device_->WaitForCopy(pending.copy));
    *finite = *finite && AllFinite(gradient(pending.variable));
  }
  return absl::OkStatus();
}

// The backward pass of some kernels overwrites what the forward pass has kept for it, so both are
// computed again.
absl::Status Executor::ScaleUntilFinite() {
  while (loss_scale_ > 1) {
    bool finite = true;
    CAIRN_RETURN_IF_ERROR(WaitForGradients(&finite));
    if (finite) break;
    CAIRN_RETURN_IF_ERROR(StartForward(batch_, /*training=*/true, loss_scale_ / kLossScaleStep));
    CAIRN_RETURN_IF_ERROR(StartBackward([](int) {}));
    CAIRN_RETURN_IF_ERROR(TakeResults().status());
  }
  return absl::OkStatus();
}

// Reports the gradients in the order of their copies, each when it has arrived. Where the loss is
// scaled all of them must have arrived, because each tells whether the others are computed again.
absl::Status Executor::TakeGradients(absl::FunctionRef<void(int variable)> on_gradient) {
  CAIRN_RETURN_IF_ERROR(ScaleUntilFinite());
  for (const PendingGradient& pending : pending_gradients_) {
    CAIRN_RETURN_IF_ERROR(device_->WaitForCopy(pending.copy));
    on_gradient(pending.variable);
  }
  pending_gradients_.clear();
  return absl::OkStatus();
}

absl::Status Executor::RunBackward(int i) {
  const Stage& stage = stages_[i];
  const ScopedSpan span(recorder_, SpanName(i, /*backward=*/true));
  CAIRN_RETURN_IF_ERROR(AddActivityGradient(i));
  if (plan_->kernels[i] != nullptr) {
    plan_->kernels[i]->Backward(
        {.inputs = stage.inputs,
         .output = stage.output,
         .variables = stage.variables,
         .masks = stage.masks,
         .random_key = stage.random_key,
         .output_gradient = stage.output_gradient,
         .before_activation = stages_[fusion_.tail(i)].fuses_loss,
         .logits_gradient = stages_[fusion_.tail(i)].logits_gradient,
         .input_gradients = stage.input_gradients,
         .variable_gradients = stage.variable_gradients,
         .statistic_weight = static_cast<float>(model_->nodes()[i].statistic_weight)});
  } else if (!stage.input_gradients.empty() && !flow_.shares_gradient[i]) {
    // A view whose input has other consumers too: its gradient needs memory of its own.
    const int64_t count = batch_size_ * ElementCount(model_->nodes()[i].layer->output().shape);
    CAIRN_RETURN_IF_ERROR(
        device_->Copy(stage.input_gradients[0], stage.output_gradient, count * sizeof(float)));
  }
  return AccumulateInputGradients(i);
}

// Adds the gradient of the output's penalty to the gradient of the output, which is complete, and
// scaled as the loss is.
absl::Status Executor::AddActivityGradient(int node) {
  const Layer& layer = *model_->nodes()[fusion_.tail(node)].layer;
  const Regularizer& regularizer = layer.activity_regularizer();
  if (regularizer.empty()) return absl::OkStatus();
  const double divisor = static_cast<double>(GradientDivisor(batch_size_)) / loss_scale_;
  return device_->AddPenaltyGradient(
      {.l1 = regularizer.l1 / divisor, .l2 = regularizer.l2 / divisor},
      batch_size_ * ElementCount(layer.output().shape), stages_[node].output,
      stages_[node].output_gradient);
}

// Adds the input gradients that the kernel wrote to temporary memory, because another consumer of
// that input had already written its gradient to the final place.
absl::Status Executor::AccumulateInputGradients(int node) {
  const Model::Node& consumer = model_->nodes()[node];
  for (size_t input = 0; input < consumer.inputs.size(); ++input) {
    if (flow_.writes[node][input] != GradientFlow::GradientWrite::kAdd) continue;
    CAIRN_RETURN_IF_ERROR(device_->Add(
        batch_size_ * ElementCount(consumer.layer->inputs()[input].shape),
        stages_[node].input_gradients[input], stages_[consumer.inputs[input]].output_gradient));
  }
  return absl::OkStatus();
}

// Adds this node's contribution to the gradients of shared variables. A gradient with no further
// contributions is turned into a mean, gets the regularizer's gradient, and is reported.
absl::Status Executor::FinishGradients(int node,
                                       absl::FunctionRef<void(int variable)> on_gradient) {
  const Model::Node& finished = model_->nodes()[node];
  for (size_t v = 0; v < finished.layer->variables().size(); ++v) {
    const LayerVariable& variable = finished.layer->variables()[v];
    const int position = finished.first_variable + static_cast<int>(v);
    float* gradient = gradients_[position];
    if (gradient == nullptr) continue;
    const int64_t count = variable.spec.element_count();
    const float* written = stages_[node].variable_gradients[v];
    if (written != gradient) CAIRN_RETURN_IF_ERROR(device_->Add(count, written, gradient));
    // The owner of a shared variable comes first in the graph, so its contribution is the last one.
    if (finished.owner >= 0) continue;
    if (variable.spec.update == VariableSpec::Update::kOptimized) {
      // Both are exact: batch sizes have 20 bits at most.
      const auto multiplier = static_cast<float>(GradientDivisor(batch_size_));
      const float divisor = static_cast<float>(batch_size_) * loss_scale_;
      if (multiplier != divisor) {
        CAIRN_RETURN_IF_ERROR(device_->Rescale(count, multiplier, divisor, gradient));
      }
      if (!variable.regularizer.empty()) {
        CAIRN_RETURN_IF_ERROR(
            device_->AddPenaltyGradient(variable.regularizer, count, values_[position], gradient));
      }
    }
    if (device_->memory_is_host()) {
      on_gradient(position);
      continue;
    }
    PendingGradient pending{.variable = position};
    CAIRN_ASSIGN_OR_RETURN(pending.copy, device_->StartCopyFromDevice(
                                             host_variables_[position].gradient.values().data(),
                                             gradient, count * sizeof(float)));
    pending_gradients_.push_back(pending);
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<const float>> Executor::output(int index) {
  const Model::Output& output = model_->outputs()[index];
  const float* const values = stages_[output.node].output;
  const int64_t count = batch_size_ * ElementCount(output.shape);
  if (device_->memory_is_host()) return absl::MakeConstSpan(values, count);
  host_output_.resize(count);
  CAIRN_RETURN_IF_ERROR(
      device_->CopyFromDevice(host_output_.data(), values, count * sizeof(float)));
  return absl::MakeConstSpan(host_output_);
}

}  // namespace cairn::nn
