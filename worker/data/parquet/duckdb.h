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
#include "common/mutex.h"

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

class DuckdbDatabase;
class DuckdbPool;

// A database in memory that can read one file: it loads no extensions, computes in the calling
// thread, and has at most 1 GiB of memory. Not thread-safe; several may be used at the same time.
// Static and thread-local variables must not hold one, or a pool: the destructors use the calling
// thread's thread-local variables.
class Duckdb {
 public:
  ~Duckdb();
  Duckdb(const Duckdb&) = delete;
  Duckdb& operator=(const Duckdb&) = delete;

  // What the file is in queries: a path of its descriptor. No name is a pattern or an address.
  std::string file() const;

  // Runs a query: calls `columns` once with the columns of the result, before anything is computed,
  // and `rows` for each chunk of it, in order. Chunks are computed as they are consumed. Both may
  // be empty. An error of either ends the query. InvalidArgument: DuckDB's error, on one line.
  // Unavailable: an error of the disk that may pass (see IsTransient). ResourceExhausted: it needs
  // more memory than it may have.
  using Columns = std::function<absl::Status(const std::vector<DuckdbColumn>& columns)>;
  using Rows = std::function<absl::Status(const std::vector<DuckdbVector>& columns, uint64_t rows)>;
  absl::Status Query(const std::string& sql, const Columns& columns, const Rows& rows);
  // The columns of a query's result. Errors as Query's.
  absl::StatusOr<std::vector<DuckdbColumn>> Describe(const std::string& sql);

 private:
  friend class DuckdbPool;
  Duckdb(DuckdbPool* pool, std::unique_ptr<DuckdbDatabase> database);

  DuckdbPool* const pool_;
  std::unique_ptr<DuckdbDatabase> database_;
};

// Databases for some files, and for no others. To make one takes 10 ms and more, most of it for
// DuckDB's own functions: one whose queries have all succeeded has the next file. Thread-safe.
class DuckdbPool {
 public:
  // `files`: what queries may read; other names have errors. Objects that were fetched have no
  // names and may always be read.
  explicit DuckdbPool(std::vector<std::string> files);
  ~DuckdbPool();
  DuckdbPool(const DuckdbPool&) = delete;
  DuckdbPool& operator=(const DuckdbPool&) = delete;

  // `descriptor` is that of the file to read; it is closed with the database, also on failure. The
  // pool must outlive the database. FailedPrecondition: the library is not installed; says how to
  // install it.
  absl::StatusOr<std::unique_ptr<Duckdb>> Open(int descriptor);

 private:
  friend class Duckdb;
  std::unique_ptr<DuckdbDatabase> Take();
  void Return(std::unique_ptr<DuckdbDatabase> database);

  const std::vector<std::string> files_;
  Mutex mutex_;
  std::vector<std::unique_ptr<DuckdbDatabase>> idle_ ABSL_GUARDED_BY(mutex_);  // Without a file.
};

// A name or a text in SQL.
std::string SqlName(const std::string& name);
std::string SqlText(const std::string& text);

// The bytes of row `row` of a column of texts or blobs.
std::string_view DuckdbBytes(const DuckdbVector& column, uint64_t row);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_PARQUET_DUCKDB_H_
