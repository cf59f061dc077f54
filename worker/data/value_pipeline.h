#ifndef CAIRN_WORKER_DATA_VALUE_PIPELINE_H_
#define CAIRN_WORKER_DATA_VALUE_PIPELINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/signature.h"
#include "nn/tensor.h"
#include "proto/job.pb.h"
#include "worker/data/array.h"
#include "worker/data/features/feature_hash.h"

namespace cairn::worker {

// The steps of a source's pipeline that change the values of one input of the model: from the rows
// of an array to the input's values. Values are float32, or whole numbers of 64 bits for the steps
// that take these. Copies share the steps. Immutable, thread-safe.
class ValuePipeline {
 public:
  // No steps.
  ValuePipeline() = default;
  // `array` has the rows of the input, before `scale`, in windows if the pipeline has some. `plan`
  // has the statistics of a step that the job file gives none; before the inspection has measured
  // any, the step does nothing. InvalidArgument names the step that does not take the examples, or
  // has no statistics.
  static absl::StatusOr<ValuePipeline> Create(const proto::DataSource& source,
                                              const proto::DataPlan& plan,
                                              const nn::Signature& model, int input,
                                              const Array& array);

  // The same steps. The one that normalizes by the statistics of the training data has these.
  // `largest`: the steps before it have accepted all examples, and made values of at most this
  // size.
  ValuePipeline WithStatistics(const proto::DataPlan::Standardization& statistics,
                               std::optional<double> largest = std::nullopt) const;

  bool empty() const { return steps_ == nullptr; }
  // Of an example. Requires steps.
  const nn::Shape& shape() const { return steps_->shapes.back(); }
  // Whether a step may refuse values that the files have, or its result may be invalid.
  bool may_fail() const { return !empty() && steps_->may_fail; }
  // Whether a step normalizes by the statistics of the training data.
  bool is_measured() const { return !empty() && steps_->measured < steps_->list.size(); }
  // The shape of the values of which these statistics are.
  const nn::Shape& measured_shape() const { return steps_->shapes[steps_->measured]; }

  // Writes the values of `row`, of type `type`. `key` determines the random draws, which are those
  // of training; without a key flips do nothing, and crops take the middle. InvalidArgument: a step
  // refuses a value, or the result is not of the type.
  absl::Status Apply(const Array& array, const char* row, std::optional<uint64_t> key,
                     proto::DataType type, void* out) const;
  // The values to measure: after all steps before the one that normalizes by statistics, or after
  // all.
  absl::Status ApplyToMeasure(const Array& array, const char* row, float* out) const;

 private:
  struct Step {
    proto::PipelineStep spec;
    std::optional<FeatureHash> hash;
    std::unordered_map<int64_t, int64_t> ids;
    bool makes_ids = false;  // Its results are ids, of the input or of a step behind.
    // By index of the last axis, or one for all; empty: the step does nothing.
    std::vector<double> mean;
    std::vector<double> inverse;
  };
  struct Steps {
    std::vector<Step> list;
    std::vector<nn::Shape> shapes;  // Before each step, and after the last one.
    int leading = 0;                // The axes before those of a row.
    double scale = 1;
    bool begins_whole = false;  // The rows are read as whole numbers, if they are.
    bool is_whole_input = false;
    bool may_fail = false;
    size_t measured = 0;  // The step that is measured; the number of steps if there is none.
  };
  // One of the vectors has the values.
  struct Values {
    bool are_whole = false;
    std::vector<float> numbers;
    std::vector<int64_t> wholes;
    std::vector<double> doubles;
    std::vector<float> next_numbers;
    std::vector<int64_t> next_wholes;
  };

  static Step MakeStep(const proto::PipelineStep& spec);
  static void SetNumbers(std::vector<double> mean, const std::vector<double>& deviation,
                         Step* step);
  absl::Status Run(const Array& array, const char* row, std::optional<uint64_t> key, size_t end,
                   Values* values) const;
  absl::Status RunStep(size_t number, std::optional<uint64_t> key, Values* values) const;
  static absl::Status Cast(const Step& step, Values* values);
  static absl::Status OneHot(int64_t depth, Values* values);
  static absl::Status LookUp(const Step& step, std::vector<int64_t>* values);
  static void Normalize(const Step& step, std::vector<float>* values);
  template <typename T>
  void Pad(size_t number, const std::vector<T>& from, std::vector<T>* to) const;
  template <typename T>
  void MovePixels(size_t number, std::optional<uint64_t> key, const std::vector<T>& from,
                  std::vector<T>* to) const;
  void Resize(size_t number, const std::vector<float>& from, std::vector<float>* to) const;

  std::shared_ptr<const Steps> steps_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_VALUE_PIPELINE_H_
