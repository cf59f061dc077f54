#include "job/data_pipeline.h"

#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "job/field_checks.h"
#include "job/value_steps.h"

namespace cairn::job {
namespace {

using Step = proto::PipelineStep;

// Larger numbers could overflow in products with a number of rows.
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

absl::Status CheckTake(const std::string& path, const Step& step) {
  if (step.take() > 0) return absl::OkStatus();
  return BadField(path, step.take(), " leaves no example; it is a whole number of 1 or more");
}

absl::Status CheckSkip(const std::string& path, const Step& step) {
  if (step.skip() >= 0) return absl::OkStatus();
  return BadField(path, step.skip(), " is below 0");
}

absl::Status CheckShard(const std::string& path, const Step& step) {
  const proto::ShardStep& shard = step.shard();
  if (!shard.has_num_shards()) {
    return BadField(path + ".num_shards",
                    R"(is missing; for example {"num_shards": 4, "index": 0})");
  }
  if (!shard.has_index()) {
    return BadField(path + ".index", "is missing; shards are counted from 0");
  }
  CAIRN_RETURN_IF_ERROR(CheckRange(path + ".num_shards", true, shard.num_shards(), 1, kMost));
  return CheckRange(path + ".index", true, shard.index(), 0, shard.num_shards() - 1);
}

absl::Status CheckFilter(const std::string& path, const Step& step) {
  const auto filter = ParseRowFilter(step.filter());
  return filter.ok() ? absl::OkStatus() : BadField(path, filter.status().message());
}

absl::Status CheckWindow(const std::string& path, const Step& step) {
  const proto::WindowStep& window = step.window();
  if (!window.has_size()) {
    return BadField(path + ".size", "is missing; it is the number of rows of an example");
  }
  CAIRN_RETURN_IF_ERROR(CheckRange(path + ".size", true, window.size(), 1, kMost));
  CAIRN_RETURN_IF_ERROR(CheckRange(path + ".shift", window.has_shift(), window.shift(), 1, kMost));
  CAIRN_RETURN_IF_ERROR(
      CheckRange(path + ".stride", window.has_stride(), window.stride(), 1, kMost));
  return CheckRange(path + ".label_offset", window.has_label_offset(), window.label_offset(), 0,
                    kMost);
}

absl::Status CheckNothing(const std::string& /*path*/, const Step& /*step*/) {
  return absl::OkStatus();
}

// What a step does.
enum class Work {
  kChooses,  // It chooses examples of certain files: a `case` of RowSelection::Create.
  kWindow,   // As kChooses, for files of this form.
  kValues,   // A `case` of ValuePipeline::RunStep.
  kKeeps,    // It changes nothing.
};

// A kind of step. It is a member of PipelineStep.step.
struct StepKind {
  const char* name;
  // `path` is the path of the step's field: "train.pipeline[0].take".
  absl::Status (*check)(const std::string& path, const Step& step);
  Work work = Work::kChooses;
};

// In the order of Step::StepCase, from 1.
constexpr StepKind kKinds[] = {
    {.name = "take", .check = CheckTake},
    {.name = "skip", .check = CheckSkip},
    {.name = "shard", .check = CheckShard},
    {.name = "filter", .check = CheckFilter},
    {.name = "window", .check = CheckWindow, .work = Work::kWindow},
    {.name = "cast", .check = CheckCast, .work = Work::kValues},
    {.name = "normalize", .check = CheckNormalize, .work = Work::kValues},
    {.name = "one_hot", .check = CheckOneHot, .work = Work::kValues},
    {.name = "hash", .check = CheckHash, .work = Work::kValues},
    {.name = "vocabulary", .check = CheckVocabulary, .work = Work::kValues},
    {.name = "pad", .check = CheckPad, .work = Work::kValues},
    {.name = "resize", .check = CheckResize, .work = Work::kValues},
    {.name = "crop", .check = CheckCrop, .work = Work::kValues},
    {.name = "flip", .check = CheckFlip, .work = Work::kValues},
    {.name = "cache", .check = CheckNothing, .work = Work::kKeeps},
};

const StepKind& KindOf(const Step& step) { return kKinds[step.step_case() - 1]; }

std::string KindNames() {
  std::string names;
  for (const StepKind& kind : kKinds) absl::StrAppend(&names, names.empty() ? "" : ", ", kind.name);
  return names;
}

// InvalidArgument: the filter compares none of these columns.
absl::Status CheckColumns(const std::string& path, const RowFilter& filter,
                          const std::vector<std::string>& known) {
  for (const RowFilter& term : filter.terms) {
    CAIRN_RETURN_IF_ERROR(CheckColumns(path, term, known));
  }
  return filter.terms.empty() ? CheckWord(path, filter.column, known) : absl::OkStatus();
}

// What a step requires of the steps before it and of the source.
absl::Status CheckPlace(const std::string& path, const proto::DataSource& source, int index,
                        const DataFormat* format) {
  const Step& step = source.pipeline(index);
  const bool has_rows = format == nullptr || format->filters != RowFilters::kNames;
  if (step.has_cache()) {
    for (int i = 0; i < index; ++i) {
      if (!IsRandom(source.pipeline(i))) continue;
      return BadField(path, "stands after \"", KindOf(source.pipeline(i)).name,
                      "\", whose random draws differ from epoch to epoch; put it before");
    }
    return absl::OkStatus();
  }
  if (step.has_window()) {
    for (int i = 0; i < index; ++i) {
      if (source.pipeline(i).has_window()) {
        return BadField(path, "is the second window of the pipeline; keep one of them");
      }
      if (ChangesValues(source.pipeline(i))) {
        return BadField(path, "stands after \"", KindOf(source.pipeline(i)).name,
                        "\"; values are changed after the window");
      }
    }
    if (has_rows) return absl::OkStatus();
    return BadField(path, "is for rows of numbers, which ", format->name, " does not have");
  }
  if (!step.has_filter()) return absl::OkStatus();
  for (int i = 0; i < index; ++i) {
    const Step& before = source.pipeline(i);
    if (before.has_window()) {
      return BadField(path,
                      "stands after \"window\", whose examples are several rows, and a filter is "
                      "about one; put it before");
    }
    if (!ChangesValues(before)) continue;
    return BadField(path, "stands after \"", KindOf(before).name,
                    "\", and compares what the files have; put it before");
  }
  if (has_rows) return absl::OkStatus();
  CAIRN_ASSIGN_OR_RETURN(const RowFilter filter, ParseRowFilter(step.filter()));
  return CheckColumns(path, filter, {format->filter_columns.begin(), format->filter_columns.end()});
}

// Checks the fields of a step.
absl::Status CheckStep(const std::string& path, const proto::DataSource& source, int index) {
  const Step& step = source.pipeline(index);
  const std::string step_path = absl::StrCat(path, ".pipeline[", index, "]");
  if (step.step_case() == Step::STEP_NOT_SET) {
    return BadField(step_path, "has no step (", KindNames(), "); for example {\"take\": 1000}");
  }
  return KindOf(step).check(absl::StrCat(step_path, ".", KindOf(step).name), step);
}

}  // namespace

absl::Status CheckPipeline(const std::string& path, const proto::DataSource& source,
                           const DataFormat* format) {
  for (int i = 0; i < source.pipeline_size(); ++i) {
    const Step& step = source.pipeline(i);
    const std::string step_path = absl::StrCat(path, ".pipeline[", i, "]");
    CAIRN_RETURN_IF_ERROR(CheckStep(path, source, i));
    const StepKind& kind = KindOf(step);
    const std::string field_path = absl::StrCat(step_path, ".", kind.name);
    CAIRN_RETURN_IF_ERROR(CheckPlace(field_path, source, i, format));
    const bool is_of_rows = kind.work == Work::kChooses || kind.work == Work::kWindow;
    if (is_of_rows && source.skip_damaged() > 0) {
      return BadField(
          field_path,
          "conflicts with \"skip_damaged\", which changes the numbers of the rows; keep "
          "one of them");
    }
    if (kind.work == Work::kValues || !step.has_input()) continue;
    return BadField(step_path + ".input", "has no meaning for \"", kind.name,
                    "\", which is about whole examples");
  }
  return absl::OkStatus();
}

absl::Status CheckPipelineFitsModel(const std::string& path, const proto::DataSource& source,
                                    const nn::Signature& model) {
  CAIRN_RETURN_IF_ERROR(CheckValueStepsFitModel(path, source, model));
  const std::optional<Window> window = WindowOf(source);
  if (!window) return absl::OkStatus();
  for (int i = 0; i < static_cast<int>(model.inputs().size()); ++i) {
    const nn::Model::Input& input = model.inputs()[i];
    if (!RowShape(source, model, i)) continue;  // Compared when the data are read.
    const nn::Shape& shape = input.spec.shape;
    if (!shape.empty() && shape[0] == window->size) continue;
    return BadField(path + ".pipeline", "has windows of ", window->size,
                    " rows; the model's input '", input.name, "' takes ", nn::ShapeText(shape),
                    ", whose first axis is not the rows of a window");
  }
  return absl::OkStatus();
}

namespace {

// Whether a step of a mixture is one of each of its sources.
absl::Status CheckMixedStep(const std::string& path, const StepKind& kind) {
  if (kind.work == Work::kValues || kind.work == Work::kKeeps) return absl::OkStatus();
  return BadField(
      path,
      "stands beside \"mix\", whose passes go on where the one before has ended; choose "
      "the examples of each source in its own pipeline");
}

// As CheckMixedStep, for a zip.
absl::Status CheckZippedStep(const std::string& path, const StepKind& kind,
                             const proto::DataSource& zip, const Step& step) {
  if (step.has_filter()) {
    return BadField(path,
                    "stands beside \"zip\", and compares columns of one source, of which the "
                    "others know nothing; use a single source with all columns");
  }
  if (step.has_window()) {
    return BadField(path, "stands beside \"zip\"; set it in the pipeline of each source");
  }
  if (kind.work != Work::kValues) return absl::OkStatus();
  std::vector<std::string> inputs;
  for (const proto::ZippedSource& zipped : zip.zip()) {
    inputs.insert(inputs.end(), zipped.inputs().begin(), zipped.inputs().end());
  }
  const std::string input = path.substr(0, path.rfind('.')) + ".input";
  if (step.has_input()) return CheckWord(input, step.input(), inputs);
  if (inputs.size() == 1) return absl::OkStatus();
  return BadField(input, "is missing; the inputs of the zip are ", absl::StrJoin(inputs, ", "));
}

// Whether a step beside a zip is one of this source, too.
bool IsOfSource(const StepKind& kind, const Step& step, const proto::ZippedSource& zipped) {
  if (kind.work != Work::kValues) return true;
  return step.has_input() ? absl::c_linear_search(zipped.inputs(), step.input())
                          : !zipped.inputs().empty();
}

}  // namespace

absl::Status MoveStepsToSources(const std::string& path, proto::DataSource* source) {
  const bool is_zip = !source->zip().empty();
  if (!is_zip && source->mix().empty()) return absl::OkStatus();
  for (int i = 0; i < source->pipeline_size(); ++i) {
    const Step& step = source->pipeline(i);
    CAIRN_RETURN_IF_ERROR(CheckStep(path, *source, i));
    const StepKind& kind = KindOf(step);
    const std::string at = absl::StrCat(path, ".pipeline[", i, "].", kind.name);
    CAIRN_RETURN_IF_ERROR(is_zip ? CheckZippedStep(at, kind, *source, step)
                                 : CheckMixedStep(at, kind));
    for (proto::MixedSource& mixed : *source->mutable_mix()) {
      *mixed.mutable_source()->add_pipeline() = step;
    }
    for (proto::ZippedSource& zipped : *source->mutable_zip()) {
      if (IsOfSource(kind, step, zipped)) *zipped.mutable_source()->add_pipeline() = step;
    }
  }
  source->clear_pipeline();
  return absl::OkStatus();
}

std::string NameOf(const proto::PipelineStep& step) {
  return step.step_case() == Step::STEP_NOT_SET ? "" : KindOf(step).name;
}

void RemoveChoices(proto::DataSource* source) {
  google::protobuf::RepeatedPtrField<Step> kept;
  for (const Step& step : source->pipeline()) {
    if (step.step_case() != Step::STEP_NOT_SET && KindOf(step).work != Work::kChooses)
      *kept.Add() = step;
  }
  *source->mutable_pipeline() = std::move(kept);
}

std::optional<Window> WindowOf(const proto::DataSource& source) {
  for (const Step& step : source.pipeline()) {
    if (!step.has_window()) continue;
    const proto::WindowStep& spec = step.window();
    Window window;
    window.size = spec.size();
    window.shift = spec.has_shift() ? spec.shift() : spec.size();
    window.stride = spec.has_stride() ? spec.stride() : 1;
    window.label_offset =
        spec.has_label_offset() ? spec.label_offset() : (window.size - 1) * window.stride;
    return window;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<RowFilter>> PipelineFiltersOf(const proto::DataSource& source) {
  std::vector<RowFilter> filters;
  for (const Step& step : source.pipeline()) {
    if (!step.has_filter()) continue;
    CAIRN_ASSIGN_OR_RETURN(filters.emplace_back(), ParseRowFilter(step.filter()));
  }
  return filters;
}

bool FiltersNeedAllRows(const proto::DataSource& source) {
  bool counts = !source.rows().empty() || !source.sample_weight().empty();
  for (const Step& step : source.pipeline()) {
    if (step.has_filter() && counts) return true;
    counts |= step.has_take() || step.has_skip() || step.has_shard();
  }
  return false;
}

std::optional<RowFilter> AllOf(std::vector<RowFilter> filters) {
  if (filters.empty()) return std::nullopt;
  if (filters.size() == 1) return std::move(filters[0]);
  RowFilter all;
  all.kind = RowFilter::Kind::kAnd;
  all.terms = std::move(filters);
  return all;
}

absl::StatusOr<std::optional<RowFilter>> FilterOf(const proto::DataSource& source) {
  CAIRN_ASSIGN_OR_RETURN(std::vector<RowFilter> filters, PipelineFiltersOf(source));
  if (source.parquet().has_filter()) {
    CAIRN_ASSIGN_OR_RETURN(RowFilter first, ParseRowFilter(source.parquet().filter()));
    filters.insert(filters.begin(), std::move(first));
  }
  return AllOf(std::move(filters));
}

}  // namespace cairn::job
