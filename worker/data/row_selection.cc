#include "worker/data/row_selection.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status_macros.h"
#include "job/data_pipeline.h"
#include "job/data_source.h"

namespace cairn::worker {
namespace {

absl::Status CheckRowsExist(const proto::DataSource& source, int64_t rows) {
  if (source.rows_size() != 2) return absl::InvalidArgumentError("rows are not two numbers");
  if (source.rows(0) >= 0 && source.rows(0) < source.rows(1) && source.rows(1) <= rows) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("\"rows\": ", job::RowsText(source),
                                                 " are not among the ", rows,
                                                 " rows of the data; the end is at most ", rows));
}

}  // namespace

RowSelection::RowSelection(std::vector<int64_t> kept)
    : kept_(std::make_shared<const std::vector<int64_t>>(std::move(kept))),
      count_(static_cast<int64_t>(kept_->size())) {}

RowSelection RowSelection::Range(int64_t first, int64_t end) {
  RowSelection range(end - first);
  range.begin_ = first;
  return range;
}

void RowSelection::Take(int64_t examples) { count_ = std::min(count_, examples); }

void RowSelection::Skip(int64_t examples) {
  const int64_t skipped = std::min(count_, examples);
  count_ -= skipped;
  if (count_ > 0) begin_ += skipped * step_;
}

void RowSelection::Shard(int64_t shards, int64_t index) {
  Skip(index);
  count_ = count_ / shards + (count_ % shards > 0 ? 1 : 0);
  // With one example the step has no meaning. Otherwise its product is below the number of rows.
  if (count_ > 1) step_ *= shards;
}

void RowSelection::Filter(const std::vector<int32_t>& passed, int filter) {
  std::vector<int64_t> kept;
  for (int64_t example = 0; example < count_; ++example) {
    const int64_t row = RowOf(example);
    if (passed[row] > filter) kept.push_back(row);
  }
  *this = RowSelection(std::move(kept));
}

// The rows of the window are examples of the steps before it, `step_` rows apart. A product is only
// made if two such rows exist, so it is below their number.
void RowSelection::Window(const proto::DataSource& source, bool has_labels) {
  const job::Window window = *job::WindowOf(source);
  int64_t last = (window.size - 1) * window.stride;  // The last row that an example needs.
  if (has_labels) last = std::max(last, window.label_offset);
  count_ = last < count_ ? (count_ - 1 - last) / window.shift + 1 : 0;
  if (count_ == 0) return;
  size_ = window.size;
  is_window_ = true;
  if (size_ > 1) stride_ = step_ * window.stride;
  if (has_labels) label_ = step_ * window.label_offset;
  if (count_ > 1) step_ *= window.shift;
}

absl::StatusOr<RowSelection> RowSelection::Create(const proto::DataSource& source, int64_t rows,
                                                  const std::vector<int32_t>& passed,
                                                  bool has_labels) {
  RowSelection result(rows);
  int filters = 0;
  if (!source.rows().empty()) {
    CAIRN_RETURN_IF_ERROR(CheckRowsExist(source, rows));
    result.Skip(source.rows(0));
    result.Take(source.rows(1) - source.rows(0));
  }
  for (int i = 0; i < source.pipeline_size(); ++i) {
    const proto::PipelineStep& step = source.pipeline(i);
    const int64_t before = result.count_;
    switch (step.step_case()) {
      case proto::PipelineStep::kTake:
        result.Take(step.take());
        break;
      case proto::PipelineStep::kSkip:
        result.Skip(step.skip());
        break;
      case proto::PipelineStep::kShard:
        result.Shard(step.shard().num_shards(), step.shard().index());
        break;
      case proto::PipelineStep::kFilter:
        if (!passed.empty()) result.Filter(passed, filters++);
        break;
      case proto::PipelineStep::kWindow:
        result.Window(source, has_labels);
        break;
      default:  // Of steps that change values.
        continue;
    }
    if (result.count_ > 0 || before == 0) continue;
    if (step.has_filter()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"pipeline[", i, "]\": no row is left for which \"filter\" is true"));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("\"pipeline[", i, "].", job::NameOf(step), "\" leaves none of ", before,
                     step.has_window() ? " rows, which are fewer than a window and its label need"
                                       : " examples"));
  }
  return result;
}

RowSelection RowSelection::Without(std::vector<int64_t> examples) const {
  CAIRN_CHECK(dropped_ == nullptr);
  RowSelection result = *this;
  if (examples.empty()) return result;
  for (size_t i = 0; i < examples.size(); ++i) examples[i] -= static_cast<int64_t>(i);
  result.dropped_ = std::make_shared<const std::vector<int64_t>>(std::move(examples));
  return result;
}

int64_t RowSelection::Kept(int64_t example) const {
  if (dropped_ == nullptr) return example;
  return example +
         (std::upper_bound(dropped_->begin(), dropped_->end(), example) - dropped_->begin());
}

RowSelection RowSelection::Labels() const {
  RowSelection labels = *this;
  labels.begin_ += label_;
  labels.size_ = 1;
  labels.is_window_ = false;
  return labels;
}

RowSelection RowSelection::Rows() const {
  if (size_ == 1 || count_ == 0) return *this;
  // With one example the step has no meaning.
  const int64_t unit = count_ > 1 ? std::gcd(step_, stride_) : stride_;
  const int64_t last = (count_ - 1) * step_ + (size_ - 1) * stride_;
  if (last / unit / size_ >= count_) return *this;  // There are more rows than the windows have.
  RowSelection rows = Labels();
  rows.dropped_ = nullptr;
  rows.begin_ = begin_;
  rows.step_ = unit;
  rows.count_ = last / unit + 1;
  return rows;
}

bool RowSelection::AnyExampleOf(int64_t row,
                                absl::FunctionRef<bool(int64_t example)> is_wanted) const {
  if (kept_ != nullptr) {
    const auto at = std::lower_bound(kept_->begin(), kept_->end(), row);
    if (at == kept_->end() || *at != row) return false;
    row = at - kept_->begin();
  }
  // The examples after the last one are skipped.
  const int64_t behind = row - begin_ - (count_ - 1) * step_;
  int64_t place = behind <= 0 ? 0 : (behind - 1) / stride_ + 1;
  // An example has the row at one of so many places, and then at each place that is so far away.
  const int64_t period = step_ / std::gcd(step_, stride_);
  for (int64_t end = std::min(size_, place + period); place < end; ++place) {
    if ((row - begin_ - place * stride_) % step_ == 0) break;
  }
  for (; place < size_; place += period) {
    const int64_t from_first = row - begin_ - place * stride_;
    if (from_first < 0 || from_first % step_ != 0) return false;
    if (is_wanted(from_first / step_)) return true;
  }
  return false;
}

}  // namespace cairn::worker
