#ifndef CAIRN_WORKER_DATA_PARQUET_DUCKDB_H_
#define CAIRN_WORKER_DATA_PARQUET_DUCKDB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::worker {

// DuckDB, which reads Parquet files. Its library is loaded at run time: libduckdb.so beside the
// program, in /usr/local/lib/cairn, or on the loader's path (deploy/install_parquet.sh).
inline constexpr char kDuckdbLibrary[] = "libduckdb.so";

// The types of columns, by the numbers of DuckDB's C interface.
enum class DuckdbType : uint32_t {
  kBoolean = 1,
  kTinyint = 2,
  kSmallint = 3,
  kInteger = 4,
  kBigint = 5,
  kUtinyint = 6,
  kUsmallint = 7,
  kUinteger = 8,
  kUbigint = 9,
  kFloat = 10,
  kDouble = 11,
  kHugeint = 16,
  kVarchar = 17,
  kBlob = 18,
  kDecimal = 19,
  kList = 24,
};

// Values of one column, in DuckDB's own memory.
struct DuckdbVector {
  // Of lists: the items of row i are the rows [offset, offset + length) of the child.
  struct Entry {
    uint64_t offset;
    uint64_t length;
  };
  const void* data = nullptr;
  const uint64_t* validity = nullptr;   // A bit for each row, 0 for a null. Null: there are none.
  std::shared_ptr<DuckdbVector> child;  // Of lists.

  bool is_null(uint64_t row) const {
    return validity != nullptr && (validity[row / 64] >> (row % 64) & 1) == 0;
  }
};

// A column of a result.
struct DuckdbColumn {
  std::string name;
  DuckdbType type = DuckdbType::kBoolean;  // Of the items, for lists.
  int lists = 0;                           // How deep the items are.
};

// A database in memory that can read one file and nothing else: it loads no extensions, computes in
// the calling thread, and has at most 1 GiB of memory. Opening one takes about 10 ms. Not
// thread-safe; several may be used at the same time. Static and thread-local variables must not
// hold one: its destructor uses the calling thread's thread-local variables.
class Duckdb {
 public:
  // `path` is the only file that queries may read. FailedPrecondition: the library is not
  // installed; says how to install it.
  static absl::StatusOr<std::unique_ptr<Duckdb>> Open(const std::string& path);
  ~Duckdb();
  Duckdb(const Duckdb&) = delete;
  Duckdb& operator=(const Duckdb&) = delete;

  // Runs a query and calls `columns` once with the columns of the result, and `rows` for each chunk
  // of it, in order. Chunks are computed as they are consumed. Both may be empty. An error of
  // either ends the query. InvalidArgument: DuckDB's error, on one line. Unavailable: an error of
  // the disk that may pass (see IsTransient). ResourceExhausted: it needs more memory than it may
  // have.
  using Columns = std::function<absl::Status(const std::vector<DuckdbColumn>& columns)>;
  using Rows = std::function<absl::Status(const std::vector<DuckdbVector>& columns, uint64_t rows)>;
  absl::Status Query(const std::string& sql, const Columns& columns, const Rows& rows);

 private:
  Duckdb() = default;
  absl::Status Start(const std::string& path);

  void* database_ = nullptr;
  void* connection_ = nullptr;
};

// A name or a text in SQL.
std::string SqlName(const std::string& name);
std::string SqlText(const std::string& text);

// The bytes of row `row` of a column of texts or blobs.
std::string_view DuckdbBytes(const DuckdbVector& column, uint64_t row);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_PARQUET_DUCKDB_H_
