#ifndef CAIRN_WORKER_DATA_ARRAY_H_
#define CAIRN_WORKER_DATA_ARRAY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/tensor.h"
#include "worker/data/files/file_bytes.h"
#include "worker/data/row_selection.h"

namespace cairn::worker {

enum class ElementType {
  kBool,
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kUint64,
  kInt64,
  kFloat16,
  kFloat32,
  kFloat64,
};

int64_t ElementBytes(ElementType type);
bool IsFloat(ElementType type);
// NumPy's name of the type, such as "uint8".
const char* ElementName(ElementType type);

// An array of numbers in one or more data files, in the files' own type and byte order. The first
// axis counts the rows; the rows of one file follow those of the previous one. Copies share the
// data. Reading is thread-safe. After Select a row may be a window: several rows of the files, one
// after the other.
//
//   array.Row(i, &scratch), then RowToFloats, RowToInts or RowToDoubles on the result
class Array {
 public:
  // The position and encoding of the rows in a file.
  struct Layout {
    ElementType type = ElementType::kFloat32;
    nn::Shape row_shape;  // No size is negative.
    uint64_t offset = 0;  // Of the first row, in bytes.
    int64_t stride = 0;   // Bytes from one row to the next; 0: rows are contiguous.
    bool big_endian = false;
    bool planes = false;  // Channels first: the last axis is the outermost in the file.
  };

  Array() = default;
  // All `rows` rows must be within the file.
  Array(std::shared_ptr<const FileBytes> file, int64_t rows, const Layout& layout);

  // Appends the rows of `other`. InvalidArgument, naming both files, if its type, byte order or row
  // shape differs.
  absl::Status Append(const Array& other);

  // Only the rows that the selection, one of rows(), has as examples. A window gets an axis before
  // the others. Places name the rows of the files. Nothing can be appended. Not twice.
  Array Select(const RowSelection& selection) const;
  // All rows but these, which are their numbers in ascending order. Nothing can be appended.
  Array Without(const std::vector<int64_t>& rows) const;
  // The rows of RowSelection::Rows.
  Array Rows() const;

  int64_t rows() const { return selection_ ? selection_->examples() : FileRows(); }
  const nn::Shape& row_shape() const { return row_shape_; }
  ElementType type() const { return layout_.type; }
  // The number of elements of one row.
  int64_t elements() const { return elements_; }
  // "uint8 (60000, 28, 28)".
  std::string ToString() const;
  // The first file.
  const std::string& file() const { return parts_.front().file->name(); }
  bool in_memory() const { return in_memory_; }

  // "FILE, row 7", for messages. The row, the first one of a window, is counted from 0 within its
  // file.
  std::string Place(int64_t row) const;

  // Returns the bytes of a row as in the file, for the RowTo functions. They are in memory, or in
  // `*scratch` until it changes. DataLoss as FileBytes::Read.
  absl::StatusOr<const char*> Row(int64_t row, std::string* scratch) const;

  using Visit = absl::FunctionRef<absl::Status(int64_t row, const char* bytes)>;
  // Visits the rows [first, end) in order, reading large pieces; stops at the first error.
  absl::Status ForEachRow(int64_t first, int64_t end, Visit visit) const;
  // The first row of reader `number` < `readers` of those who read the rows together; rows() for
  // `readers`. Rows of one file, or of one part of a file, have one reader, if there are enough.
  int64_t FirstRowOf(int64_t number, int64_t readers) const;
  // Visits all rows.
  absl::Status ForEachRow(Visit visit) const { return ForEachRow(0, rows(), visit); }

  // Convert the elements of a row and write elements() values to `out`. RowToFloats multiplies by
  // `scale` and rounds the product once. RowToInts requires integers of 32 bits.
  void RowToFloats(const char* row, double scale, float* out) const;
  void RowToInts(const char* row, int32_t* out) const;
  // Exact except for integers above 2^53.
  void RowToDoubles(const char* row, double* out) const;
  // Requires integers. A uint64 of 2^63 or more becomes the negative number with its bits.
  void RowToWholes(const char* row, int64_t* out) const;

  // Opens the files of these rows that are deferred. Errors as Row's.
  absl::Status OpenFiles(const std::vector<int64_t>& rows) const;
  // Whether all files are open.
  bool is_open() const;

  // DataLoss: the file on disk of one of these rows has changed since it was opened.
  absl::Status CheckUnchanged(const std::vector<int64_t>& rows) const;

 private:
  struct Part {
    std::shared_ptr<const FileBytes> file;
    uint64_t offset = 0;
    int64_t first_row = 0;  // In the file.
  };

  // Rows of the files, before the selection.
  int64_t FileRows() const { return ends_.empty() ? 0 : ends_.back(); }
  Array Range(int64_t first, int64_t end) const;
  int64_t FileRow(int64_t row, int64_t place = 0) const {
    return selection_ ? selection_->RowOf(row, place) : row;
  }
  // The number of rows of the files that a row is, and the last one.
  int64_t size() const { return selection_ ? selection_->size() : 1; }
  int64_t LastFileRow(int64_t row) const { return FileRow(row, size() - 1); }
  // Whether the rows of the files that a row is follow each other without a gap.
  bool IsAdjacent(int64_t row) const;
  // The bytes of a row, of which `bytes` has those of its file from row `first` on.
  const char* RowWithin(int64_t row, const char* bytes, int64_t first, std::string* scratch) const;
  absl::StatusOr<const char*> ReadFileRow(int64_t row, std::string* scratch) const;
  absl::StatusOr<const char*> ReadWindow(int64_t row, std::string* scratch) const;
  int PartOf(int64_t row) const;
  std::vector<int> PartsOf(const std::vector<int64_t>& rows) const;
  // A number that all threads may raise. A copy of an array begins with that of the array.
  class Progress {
   public:
    Progress() = default;
    Progress(const Progress& other) noexcept : value_(other.value()) {}
    Progress& operator=(const Progress& other) noexcept {
      Set(other.value());
      return *this;
    }
    size_t value() const { return value_.load(std::memory_order_relaxed); }
    void Set(size_t value) { value_.store(value, std::memory_order_relaxed); }

   private:
    std::atomic<size_t> value_ = 0;
  };

  int64_t FirstRow(int part) const { return part == 0 ? 0 : ends_[part - 1]; }
  template <typename Out, typename Convert>
  void ConvertRow(const char* row, Out* out, Convert convert) const;

  Layout layout_;
  nn::Shape row_shape_;    // That of the layout, with the axis of windows.
  int64_t elements_ = 0;   // Of row_shape_.
  int64_t row_bytes_ = 0;  // Of a row of the files.
  std::optional<RowSelection> selection_;
  std::vector<Part> parts_;
  bool in_memory_ = true;      // All parts.
  bool can_change_ = false;    // Any of the files.
  mutable Progress open_;      // So many of the first parts are open.
  std::vector<int64_t> ends_;  // One past the last row of each part.
};

// InvalidArgument, naming the file, if rows have no elements. The header of a small file could
// declare any number of such rows, and reading them would not end.
absl::Status CheckRowsNotEmpty(const FileBytes& file, int64_t rows, const Array::Layout& layout);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_ARRAY_H_
