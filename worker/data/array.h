#ifndef CAIRN_WORKER_DATA_ARRAY_H_
#define CAIRN_WORKER_DATA_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/tensor.h"
#include "worker/data/files/file_bytes.h"

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
  kFloat32,
  kFloat64,
};

int64_t ElementBytes(ElementType type);
// NumPy's name: "uint8".
const char* ElementName(ElementType type);

// Rows of numbers as data files have them: of one type and shape, one file's rows after the
// other's, in the files' own types and order of bytes. The first axis counts the rows. A value;
// reading is thread-safe.
class Array {
 public:
  // How one file's rows lie in it.
  struct Layout {
    ElementType type = ElementType::kFloat32;
    nn::Shape row_shape;  // Nothing negative.
    uint64_t offset = 0;  // Of the first row.
    int64_t stride = 0;   // Bytes from one row to the next; 0: rows follow each other at once.
    bool big_endian = false;
    bool planes = false;  // The last axis is the outermost in the file.
  };

  Array() = default;
  // `rows` rows, all within the file.
  Array(std::shared_ptr<const FileBytes> file, int64_t rows, const Layout& layout);

  // Adds the rows of `other` behind these. InvalidArgument, naming both files: of another type or
  // shape.
  absl::Status Append(const Array& other);

  int64_t rows() const { return ends_.empty() ? 0 : ends_.back(); }
  const nn::Shape& row_shape() const { return layout_.row_shape; }
  ElementType type() const { return layout_.type; }
  // Of one row.
  int64_t elements() const { return elements_; }
  // "uint8 (60000, 28, 28)".
  std::string ToString() const;
  // The first file.
  const std::string& file() const { return parts_.front().file->name(); }
  bool in_memory() const;

  // "FILE, row 7", counted from 0 in its file.
  std::string Place(int64_t row) const;

  // The bytes of a row as they stand in the file, to be given to RowToFloats or RowToInts; in
  // memory or in `*scratch`. DataLoss as FileBytes::Read.
  absl::StatusOr<const char*> Row(int64_t row, std::string* scratch) const;

  // Visits all rows in order, reading much at a time; ends with the first error.
  absl::Status ForEachRow(
      absl::FunctionRef<absl::Status(int64_t row, const char* bytes)> visit) const;

  // A row's elements, as float times `scale` (the product is rounded once) or as int32 (all must be
  // whole numbers of 32 bits).
  void RowToFloats(const char* row, double scale, float* out) const;
  void RowToInts(const char* row, int32_t* out) const;
  // Exact but for whole numbers beyond 2^53.
  void RowToDoubles(const char* row, double* out) const;

  // DataLoss: a file on disk was changed.
  absl::Status CheckUnchanged() const;

 private:
  struct Part {
    std::shared_ptr<const FileBytes> file;
    uint64_t offset = 0;
  };

  int PartOf(int64_t row) const;
  int64_t FirstRow(int part) const { return part == 0 ? 0 : ends_[part - 1]; }
  template <typename Out, typename Convert>
  void ConvertRow(const char* row, Out* out, Convert convert) const;

  Layout layout_;
  int64_t elements_ = 0;
  int64_t row_bytes_ = 0;
  std::vector<Part> parts_;
  std::vector<int64_t> ends_;  // Behind the last row of each part.
};

// InvalidArgument, naming the file: its rows have no elements. A few bytes could promise any number
// of such rows, and reading them would not end.
absl::Status CheckRowsHoldSomething(const FileBytes& file, int64_t rows,
                                    const Array::Layout& layout);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_ARRAY_H_
