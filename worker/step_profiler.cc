#include "worker/step_profiler.h"

#include <algorithm>
#include <string>

namespace cairn::worker {
namespace {

// About a megabyte on the wire. Larger profiles are not readable anyway.
constexpr int64_t kSpansMax = 65536;

// The spans of a step are its phases, one push for each variable, and each layer twice: forward and
// backward.
int64_t SpansOf(const nn::Model& model, int64_t steps) {
  const auto layers = static_cast<int64_t>(model.nodes().size());
  const auto variables = static_cast<int64_t>(model.variables().size());
  return std::clamp<int64_t>(steps, 1, kSpansMax) * (kStepPhaseCount + 1 + variables + 2 * layers);
}

void AddName(const std::string& name, const char* kind, proto::ProfileReport* report) {
  proto::ProfileName* added = report->add_names();
  added->set_name(name);
  added->set_kind(kind);
}

}  // namespace

StepProfiler::StepProfiler(const proto::Profile& command, const nn::Model* model)
    : profile_(command.profile()),
      steps_(command.steps()),
      model_(*model),
      recorder_(static_cast<size_t>(std::min(kSpansMax, SpansOf(*model, command.steps())))) {}

void StepProfiler::AddLoad(const LoadTimes& times) {
  ++loads_;
  load_times_.reading += times.reading;
  load_times_.decoding += times.decoding;
}

proto::ProfileReport StepProfiler::Report() const {
  proto::ProfileReport report;
  report.set_profile(profile_);
  report.set_steps(steps_done_);
  report.set_unix_nanoseconds(SpanRecorder::UnixNanosecondsAtZero());
  report.set_dropped(recorder_.dropped());
  report.set_loaded_batches(loads_);
  report.set_reading_nanoseconds(load_times_.reading);
  report.set_decoding_nanoseconds(load_times_.decoding);
  // In the order of StepPhase, then that of nn::Executor::set_recorder: spans refer to names by
  // index.
  for (const char* phase : {"data", "wait", "pull", "forward", "backward", "push"}) {
    AddName(phase, "phase", &report);
  }
  for (const char* kind : {"forward", "backward"}) {
    for (const nn::Model::Node& node : model_.nodes()) AddName(node.layer->name(), kind, &report);
  }
  AddName("loss", "forward", &report);
  for (const SpanRecorder::Span& span : recorder_.spans()) {
    proto::ProfileSpan* added = report.add_spans();
    added->set_name(span.name);
    added->set_batch(span.batch);
    added->set_begin_nanoseconds(span.begin_nanoseconds);
    added->set_nanoseconds(span.nanoseconds);
  }
  return report;
}

}  // namespace cairn::worker
