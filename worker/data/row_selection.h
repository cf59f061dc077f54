#ifndef CAIRN_WORKER_DATA_ROW_SELECTION_H_
#define CAIRN_WORKER_DATA_ROW_SELECTION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace cairn::worker {

// An exact map from the number of an example to its rows: what the `rows` and the `pipeline` of a
// source mean for a number of rows. An example is one row, or a window of several. Takes constant
// memory and time, except for rows that a filter has kept. It depends on the source and the rows
// alone, so it is the same on all workers and after a restart. Copies share the kept rows.
// Immutable, thread-safe.
//
//   RowSelection selection = *RowSelection::Create(source, rows);
//   array = array.Select(selection);
class RowSelection {
 public:
  // Each row is an example.
  explicit RowSelection(int64_t rows) : count_(rows) {}
  // Only these of the rows, which are in ascending order.
  explicit RowSelection(std::vector<int64_t> kept);

  // The rows [first, end).
  static RowSelection Range(int64_t first, int64_t end);

  // Applies the `rows` of the source and the steps of its pipeline to its rows. `passed` has, for
  // each row, the number of filters that are true for it before the first one that is not. If it is
  // empty, the rows that filters leave out are not among the rows. With `has_labels` an example has
  // a label, so that a window with a label behind the last row is left out. InvalidArgument: the
  // rows do not exist, or no example is left.
  static absl::StatusOr<RowSelection> Create(const proto::DataSource& source, int64_t rows,
                                             const std::vector<int32_t>& passed = {},
                                             bool has_labels = true);

  // The same examples without these, which are their numbers in ascending order. Not twice.
  RowSelection Without(std::vector<int64_t> examples) const;

  int64_t examples() const {
    return count_ - (dropped_ == nullptr ? 0 : static_cast<int64_t>(dropped_->size()));
  }
  // The rows of an example, and the number of examples from one of them to the next.
  int64_t size() const { return size_; }
  // Row number `place` < size() of an example. Ascends with the example and with the place.
  int64_t RowOf(int64_t example, int64_t place = 0) const {
    return Row(begin_ + Kept(example) * step_ + place * stride_);
  }
  // Whether an example is a window, which may have one row.
  bool is_window() const { return is_window_; }
  // The row with the label of an example: RowOf(example) if it is one row.
  RowSelection Labels() const;
  // Has all rows of the examples, each in one example or a few: to check their values. For windows
  // that overlap the examples are the rows, which may include some between those of the windows.
  RowSelection Rows() const;

  // Whether the examples are adjacent rows, one each.
  bool is_range() const {
    return kept_ == nullptr && dropped_ == nullptr && size_ == 1 && (step_ == 1 || count_ == 1);
  }

  // Whether an example that contains the row satisfies `is_wanted`. Not after Without.
  bool AnyExampleOf(int64_t row, absl::FunctionRef<bool(int64_t example)> is_wanted) const;

 private:
  int64_t Row(int64_t index) const { return kept_ == nullptr ? index : (*kept_)[index]; }
  // The number of an example before Without.
  int64_t Kept(int64_t example) const;
  void Take(int64_t examples);
  void Skip(int64_t examples);
  void Shard(int64_t shards, int64_t index);
  // Keeps the rows that pass filter number `filter`. Not for windows.
  void Filter(const std::vector<int32_t>& passed, int filter);
  void Window(const proto::DataSource& source, bool has_labels);

  std::shared_ptr<const std::vector<int64_t>> kept_;  // Null: all rows.
  // The number of examples before each one that is left out. Null: all examples.
  std::shared_ptr<const std::vector<int64_t>> dropped_;
  // Row `place` of an example is row begin_ + example * step_ + place * stride_ of the kept ones.
  int64_t begin_ = 0;
  int64_t step_ = 1;
  int64_t count_ = 0;
  int64_t size_ = 1;
  bool is_window_ = false;
  int64_t stride_ = 1;
  int64_t label_ = 0;  // From the first row of an example to the one with its label.
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_ROW_SELECTION_H_
