#include "worker/data/parquet/duckdb.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/mutex.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "worker/data/files/read_at.h"

namespace cairn::worker {
namespace {

// DuckDB's C interface, as its documentation describes it. All handles are pointers; a state is 0
// on success.
using Handle = void*;
using State = int;

struct Result {
  uint64_t unused_counts[3];
  void* unused_pointers[2];
  void* internal;
};

struct Api {
  State (*create_config)(Handle* config);
  State (*set_config)(Handle config, const char* name, const char* value);
  void (*destroy_config)(Handle* config);
  State (*open_ext)(const char* path, Handle* database, Handle config, char** error);
  State (*connect)(Handle database, Handle* connection);
  void (*disconnect)(Handle* connection);
  void (*close)(Handle* database);
  State (*prepare)(Handle connection, const char* sql, Handle* statement);
  const char* (*prepare_error)(Handle statement);
  void (*destroy_prepare)(Handle* statement);
  State (*pending_prepared_streaming)(Handle statement, Handle* pending);
  const char* (*pending_error)(Handle pending);
  State (*execute_pending)(Handle pending, Result* result);
  void (*destroy_pending)(Handle* pending);
  const char* (*result_error)(Result* result);
  void (*destroy_result)(Result* result);
  uint64_t (*prepared_statement_column_count)(Handle statement);
  const char* (*prepared_statement_column_name)(Handle statement, uint64_t column);
  Handle (*prepared_statement_column_logical_type)(Handle statement, uint64_t column);
  void (*free)(void* text);
  uint32_t (*get_type_id)(Handle type);
  Handle (*list_type_child_type)(Handle type);
  void (*destroy_logical_type)(Handle* type);
  Handle (*fetch_chunk)(Result result);
  uint64_t (*data_chunk_get_size)(Handle chunk);
  Handle (*data_chunk_get_vector)(Handle chunk, uint64_t column);
  void (*destroy_data_chunk)(Handle* chunk);
  void* (*vector_get_data)(Handle vector);
  uint64_t* (*vector_get_validity)(Handle vector);
  Handle (*list_vector_get_child)(Handle vector);
};

absl::Status NotInstalled(const std::string& reason) {
  return absl::FailedPreconditionError(absl::StrCat(
      "reading Parquet needs DuckDB's library, which is optional and not installed on this "
      "machine: run deploy/install_parquet.sh (",
      reason, ")"));
}

std::string LoaderError() {
  const char* const error = dlerror();
  return error == nullptr ? "no reason given" : error;
}

// The library's path, or its bare name if only the dynamic loader can find it.
std::string FindLibrary() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  for (const std::filesystem::path& folder :
       {program.parent_path(), std::filesystem::path("/usr/local/lib/cairn")}) {
    const std::filesystem::path library = folder / kDuckdbLibrary;
    if (std::filesystem::exists(library, error)) return library.string();
  }
  return kDuckdbLibrary;
}

absl::StatusOr<Api> LoadApi() {
  // RTLD_LOCAL keeps the symbols of the program and the library apart.
  void* const library = dlopen(FindLibrary().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return NotInstalled(LoaderError());
  Api api;
  std::string missing;
  const auto find = [&](const char* name, auto* function) {
    void* const found = dlsym(library, absl::StrCat("duckdb_", name).c_str());
    if (found == nullptr) missing = name;
    *function = reinterpret_cast<std::remove_reference_t<decltype(*function)>>(found);
  };
  find("create_config", &api.create_config);
  find("set_config", &api.set_config);
  find("destroy_config", &api.destroy_config);
  find("open_ext", &api.open_ext);
  find("connect", &api.connect);
  find("disconnect", &api.disconnect);
  find("close", &api.close);
  find("prepare", &api.prepare);
  find("prepare_error", &api.prepare_error);
  find("destroy_prepare", &api.destroy_prepare);
  find("pending_prepared_streaming", &api.pending_prepared_streaming);
  find("pending_error", &api.pending_error);
  find("execute_pending", &api.execute_pending);
  find("destroy_pending", &api.destroy_pending);
  find("result_error", &api.result_error);
  find("destroy_result", &api.destroy_result);
  find("prepared_statement_column_count", &api.prepared_statement_column_count);
  find("prepared_statement_column_name", &api.prepared_statement_column_name);
  find("prepared_statement_column_logical_type", &api.prepared_statement_column_logical_type);
  find("free", &api.free);
  find("get_type_id", &api.get_type_id);
  find("list_type_child_type", &api.list_type_child_type);
  find("destroy_logical_type", &api.destroy_logical_type);
  find("fetch_chunk", &api.fetch_chunk);
  find("data_chunk_get_size", &api.data_chunk_get_size);
  find("data_chunk_get_vector", &api.data_chunk_get_vector);
  find("destroy_data_chunk", &api.destroy_data_chunk);
  find("vector_get_data", &api.vector_get_data);
  find("vector_get_validity", &api.vector_get_validity);
  find("list_vector_get_child", &api.list_vector_get_child);
  if (missing.empty()) return api;
  return NotInstalled(absl::StrCat("the installed one has no duckdb_", missing));
}

// DuckDB gives no numbers of system errors, only their texts.
bool NamesTransientError(const std::string& line) {
  constexpr int kErrnoMax = 133;
  if (!absl::StartsWith(line, "IO Error")) return false;
  for (int error = 1; error <= kErrnoMax; ++error) {
    if (IsTransient(error) && absl::EndsWith(line, strerror(error))) return true;
  }
  return false;
}

absl::Status Failed(const char* error) {
  const std::string text = error == nullptr ? "DuckDB gives no reason" : error;
  const std::string line = PrintableLine(text.substr(0, text.find('\n')));
  if (absl::StartsWith(line, "Out of Memory")) return absl::ResourceExhaustedError(line);
  return NamesTransientError(line) ? absl::UnavailableError(line)
                                   : absl::InvalidArgumentError(line);
}

// Null until LoadLibrary has succeeded.
std::atomic<const Api*> the_api = nullptr;

// A worker that runs when the library is installed finds it at the next call.
absl::Status LoadLibrary() {
  static Mutex* const mutex = new Mutex;
  MutexLock lock(mutex);
  if (the_api != nullptr) return absl::OkStatus();
  CAIRN_ASSIGN_OR_RETURN(const Api api, LoadApi());
  the_api = new Api(api);
  return absl::OkStatus();
}

const Api& TheApi() { return *the_api; }

DuckdbColumn ColumnOf(Handle statement, uint64_t index) {
  const Api& api = TheApi();
  DuckdbColumn column;
  const char* const name = api.prepared_statement_column_name(statement, index);
  if (name != nullptr) column.name = name;
  api.free(const_cast<char*>(name));
  Handle type = api.prepared_statement_column_logical_type(statement, index);
  column.type = static_cast<DuckdbType>(api.get_type_id(type));
  while (column.type == DuckdbType::kList) {
    Handle child = api.list_type_child_type(type);
    api.destroy_logical_type(&type);
    type = child;
    column.type = static_cast<DuckdbType>(api.get_type_id(type));
    ++column.lists;
  }
  api.destroy_logical_type(&type);
  return column;
}

DuckdbVector VectorOf(Handle vector, int lists) {
  const Api& api = TheApi();
  DuckdbVector result;
  result.data = api.vector_get_data(vector);
  result.validity = api.vector_get_validity(vector);
  if (lists > 0) {
    result.child =
        std::make_shared<DuckdbVector>(VectorOf(api.list_vector_get_child(vector), lists - 1));
  }
  return result;
}

std::vector<DuckdbColumn> ColumnsOf(Handle statement) {
  std::vector<DuckdbColumn> columns;
  const uint64_t count = TheApi().prepared_statement_column_count(statement);
  for (uint64_t i = 0; i < count; ++i) columns.push_back(ColumnOf(statement, i));
  return columns;
}

absl::Status ReadResult(Result* result, const std::vector<DuckdbColumn>& columns,
                        const Duckdb::Rows& on_rows) {
  const Api& api = TheApi();
  while (true) {
    Handle chunk = api.fetch_chunk(*result);
    if (chunk == nullptr) {
      // The end, or an error while the chunk was computed.
      const char* const error = api.result_error(result);
      return error == nullptr || *error == '\0' ? absl::OkStatus() : Failed(error);
    }
    const uint64_t rows = api.data_chunk_get_size(chunk);
    absl::Status status;
    if (on_rows && rows > 0) {
      std::vector<DuckdbVector> vectors;
      for (uint64_t i = 0; i < columns.size(); ++i) {
        vectors.push_back(VectorOf(api.data_chunk_get_vector(chunk, i), columns[i].lists));
      }
      status = on_rows(vectors, rows);
    }
    api.destroy_data_chunk(&chunk);
    CAIRN_RETURN_IF_ERROR(status);
    if (rows == 0) return absl::OkStatus();
  }
}

std::string Quoted(const std::string& text, const char* quote) {
  const std::string twice = absl::StrCat(quote, quote);
  return absl::StrCat(quote, absl::StrReplaceAll(text, {{quote, twice}}), quote);
}

// The most databases without a file that a pool keeps.
constexpr size_t kIdleMax = 8;

// A file without a name, and nothing in it. -1, with errno: there is none.
int OpenNothing() { return memfd_create("no data file", MFD_CLOEXEC); }

absl::Status NoFile() {
  return absl::UnavailableError(absl::StrCat("DuckDB gets no file: ", strerror(errno)));
}

}  // namespace

// Has a place for the descriptor of its file.
class DuckdbDatabase {
 public:
  // It can read `files`, and has none yet. Errors as DuckdbPool::Open.
  static absl::StatusOr<std::unique_ptr<DuckdbDatabase>> Create(
      const std::vector<std::string>& files);
  ~DuckdbDatabase() {
    if (connection_ != nullptr) TheApi().disconnect(&connection_);
    if (database_ != nullptr) TheApi().close(&database_);
    close(descriptor_);
  }
  DuckdbDatabase(const DuckdbDatabase&) = delete;
  DuckdbDatabase& operator=(const DuckdbDatabase&) = delete;

  // As Duckdb's.
  absl::Status Query(const std::string& sql, const Duckdb::Columns& on_columns,
                     const Duckdb::Rows& on_rows);
  absl::StatusOr<std::vector<DuckdbColumn>> Describe(const std::string& sql);
  bool has_failed() const { return has_failed_; }

  // Has another file from now on. Closes `descriptor`. False, with errno: it cannot.
  bool Replace(int descriptor);
  // The same for all its files.
  std::string Path() const { return absl::StrCat("/proc/self/fd/", descriptor_); }

 private:
  explicit DuckdbDatabase(int descriptor) : descriptor_(descriptor) {}
  absl::Status Start(const std::vector<std::string>& files);
  // A statement, to be given to api.destroy_prepare.
  absl::StatusOr<Handle> Prepare(const std::string& sql) const;
  static absl::Status Run(Handle statement, const std::vector<DuckdbColumn>& columns,
                          const Duckdb::Rows& on_rows);

  const int descriptor_;
  Handle database_ = nullptr;
  Handle connection_ = nullptr;
  bool has_failed_ = false;
};

absl::StatusOr<std::unique_ptr<DuckdbDatabase>> DuckdbDatabase::Create(
    const std::vector<std::string>& files) {
  CAIRN_RETURN_IF_ERROR(LoadLibrary());
  const int nothing = OpenNothing();
  if (nothing < 0) return NoFile();
  auto database = absl::WrapUnique(new DuckdbDatabase(nothing));
  CAIRN_RETURN_IF_ERROR(database->Start(files));
  return database;
}

// Before it has a file with a name.
absl::Status DuckdbDatabase::Start(const std::vector<std::string>& files) {
  const Api& api = TheApi();
  Handle config = nullptr;
  api.create_config(&config);
  for (const auto& [name, value] : std::array<std::pair<const char*, const char*>, 6>{
           {{"threads", "1"},
            {"memory_limit", "1GiB"},
            {"temp_directory", ""},
            {"autoinstall_known_extensions", "false"},
            {"autoload_known_extensions", "false"},
            // Another file will have the same path, which is that of a descriptor.
            {"enable_external_file_cache", "false"}}}) {
    api.set_config(config, name, value);
  }
  char* error = nullptr;
  const State state = api.open_ext(nullptr, &database_, config, &error);
  api.destroy_config(&config);
  if (state != 0) return Failed(error);
  if (api.connect(database_, &connection_) != 0) return Failed("DuckDB opens no connection");
  // DuckDB compares the names that links lead to, where there are any: the path of the descriptor
  // is for files without a name.
  std::vector<std::string> allowed = {SqlText(Path())};
  for (const std::string& file : files) allowed.push_back(SqlText(file));
  // The order matters: without access to files no path can be allowed.
  CAIRN_RETURN_IF_ERROR(Query(
      absl::StrCat("SET allowed_paths = [", absl::StrJoin(allowed, ","), "]"), nullptr, nullptr));
  CAIRN_RETURN_IF_ERROR(Query("SET enable_external_access = false", nullptr, nullptr));
  return Query("SET lock_configuration = true", nullptr, nullptr);
}

bool DuckdbDatabase::Replace(int descriptor) {
  const bool replaced = dup3(descriptor, descriptor_, O_CLOEXEC) >= 0;
  close(descriptor);
  return replaced;
}

absl::StatusOr<Handle> DuckdbDatabase::Prepare(const std::string& sql) const {
  const Api& api = TheApi();
  // It ends at the first NUL for DuckDB.
  if (sql.find('\0') != std::string::npos) return Failed("a name or a text has a NUL character");
  Handle statement = nullptr;
  if (api.prepare(connection_, sql.c_str(), &statement) == 0) return statement;
  const absl::Status status = Failed(api.prepare_error(statement));
  api.destroy_prepare(&statement);
  return status;
}

absl::StatusOr<std::vector<DuckdbColumn>> DuckdbDatabase::Describe(const std::string& sql) {
  absl::StatusOr<Handle> statement = Prepare(sql);
  has_failed_ |= !statement.ok();
  CAIRN_RETURN_IF_ERROR(statement.status());
  std::vector<DuckdbColumn> columns = ColumnsOf(*statement);
  TheApi().destroy_prepare(&*statement);
  return columns;
}

absl::Status DuckdbDatabase::Query(const std::string& sql, const Duckdb::Columns& on_columns,
                                   const Duckdb::Rows& on_rows) {
  absl::StatusOr<Handle> statement = Prepare(sql);
  has_failed_ |= !statement.ok();
  CAIRN_RETURN_IF_ERROR(statement.status());
  const std::vector<DuckdbColumn> columns = ColumnsOf(*statement);
  absl::Status status = on_columns ? on_columns(columns) : absl::OkStatus();
  if (status.ok()) {
    status = Run(*statement, columns, on_rows);
    has_failed_ |= !status.ok();
  }
  TheApi().destroy_prepare(&*statement);
  return status;
}

absl::Status DuckdbDatabase::Run(Handle statement, const std::vector<DuckdbColumn>& columns,
                                 const Duckdb::Rows& on_rows) {
  const Api& api = TheApi();
  Handle pending = nullptr;
  absl::Status status;
  if (api.pending_prepared_streaming(statement, &pending) != 0) {
    status = Failed(api.pending_error(pending));
  } else {
    Result result = {};
    status = api.execute_pending(pending, &result) != 0 ? Failed(api.result_error(&result))
                                                        : ReadResult(&result, columns, on_rows);
    api.destroy_result(&result);
  }
  api.destroy_pending(&pending);
  return status;
}

Duckdb::Duckdb(DuckdbPool* pool, std::unique_ptr<DuckdbDatabase> database)
    : pool_(pool), database_(std::move(database)) {}

Duckdb::~Duckdb() { pool_->Return(std::move(database_)); }

std::string Duckdb::file() const { return database_->Path(); }

absl::Status Duckdb::Query(const std::string& sql, const Columns& columns, const Rows& rows) {
  return database_->Query(sql, columns, rows);
}

absl::StatusOr<std::vector<DuckdbColumn>> Duckdb::Describe(const std::string& sql) {
  return database_->Describe(sql);
}

DuckdbPool::DuckdbPool(std::vector<std::string> files) : files_(std::move(files)) {}

DuckdbPool::~DuckdbPool() = default;

absl::StatusOr<std::unique_ptr<Duckdb>> DuckdbPool::Open(int descriptor) {
  std::unique_ptr<DuckdbDatabase> database = Take();
  if (database == nullptr) {
    auto created = DuckdbDatabase::Create(files_);
    if (!created.ok()) {
      close(descriptor);
      return created.status();
    }
    database = *std::move(created);
  }
  if (!database->Replace(descriptor)) return NoFile();
  return absl::WrapUnique(new Duckdb(this, std::move(database)));
}

std::unique_ptr<DuckdbDatabase> DuckdbPool::Take() {
  MutexLock lock(&mutex_);
  if (idle_.empty()) return nullptr;
  std::unique_ptr<DuckdbDatabase> last = std::move(idle_.back());
  idle_.pop_back();
  return last;
}

void DuckdbPool::Return(std::unique_ptr<DuckdbDatabase> database) {
  // DuckDB ends a database after some errors.
  if (database->has_failed()) return;
  const int nothing = OpenNothing();
  if (nothing < 0 || !database->Replace(nothing)) return;
  MutexLock lock(&mutex_);
  if (idle_.size() < kIdleMax) idle_.push_back(std::move(database));
}

std::string SqlName(const std::string& name) { return Quoted(name, "\""); }
std::string SqlText(const std::string& text) { return Quoted(text, "'"); }

std::string_view DuckdbBytes(const DuckdbVector& column, uint64_t row) {
  // A length, and up to 12 bytes or 4 bytes and a pointer.
  constexpr uint32_t kInline = 12;
  const char* const at = static_cast<const char*>(column.data) + row * 16;
  uint32_t length = 0;
  std::memcpy(&length, at, sizeof length);
  if (length <= kInline) return {at + 4, length};
  const char* bytes = nullptr;
  std::memcpy(&bytes, at + 8, sizeof bytes);
  return {bytes, length};
}

}  // namespace cairn::worker
