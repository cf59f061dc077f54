#ifndef CAIRN_JOB_DATA_PIPELINE_H_
#define CAIRN_JOB_DATA_PIPELINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "job/data_formats/data_format.h"
#include "job/data_formats/row_filter.h"
#include "nn/signature.h"
#include "proto/job.pb.h"

namespace cairn::job {

// The rules of a source's `pipeline`. The table of steps is in data_pipeline.cc. What steps mean
// for rows is in worker/data/row_selection.h. The rules of steps that change values are in
// job/value_steps.h.

// Checks everything that does not depend on the model. `path` is the path of the source in the job
// file. `format` is the source's; null if it has none. InvalidArgument starts with the step's path.
absl::Status CheckPipeline(const std::string& path, const proto::DataSource& source,
                           const DataFormat* format);

// Moves the steps beside a mixture or a zip into its sources, where they mean the same. `path` is
// the path of the source. InvalidArgument: a step means something else there.
absl::Status MoveStepsToSources(const std::string& path, proto::DataSource* source);

// InvalidArgument: an input of the model does not take the windows of the pipeline, or a step names
// no input.
absl::Status CheckPipelineFitsModel(const std::string& path, const proto::DataSource& source,
                                    const nn::Signature& model);

// The name of a step in the job file: "take".
std::string NameOf(const proto::PipelineStep& step);

// Removes the steps that choose examples of certain files. Those that make the form of an example
// stay.
void RemoveChoices(proto::DataSource* source);

// A window with its defaults.
struct Window {
  int64_t size = 1;
  int64_t shift = 1;
  int64_t stride = 1;
  int64_t label_offset = 0;
};

// The window of the source's pipeline; none if it has none. CheckPipeline must have accepted it.
std::optional<Window> WindowOf(const proto::DataSource& source);

// The filters of the pipeline, in its order.
absl::StatusOr<std::vector<RowFilter>> PipelineFiltersOf(const proto::DataSource& source);

// Whether `rows`, weights, or a step before a filter count the rows that a filter of the pipeline
// leaves out. Otherwise a reader may leave them out before the rows get their numbers.
bool FiltersNeedAllRows(const proto::DataSource& source);

// The filters as one condition on a row; none if there are none.
std::optional<RowFilter> AllOf(std::vector<RowFilter> filters);
// The condition that all filters of the source make together, also that of ParquetSource.
absl::StatusOr<std::optional<RowFilter>> FilterOf(const proto::DataSource& source);

}  // namespace cairn::job

#endif  // CAIRN_JOB_DATA_PIPELINE_H_
