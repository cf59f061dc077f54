#include "worker/data/data_reader.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/plural.h"
#include "common/thread_pool.h"
#include "worker/data/files/load_file.h"

namespace cairn::worker {

std::vector<std::string> SourceFiles::All() const {
  std::vector<std::string> all;
  for (const auto& input : features) all.insert(all.end(), input.begin(), input.end());
  for (const auto& output : labels) all.insert(all.end(), output.begin(), output.end());
  all.insert(all.end(), weights.begin(), weights.end());
  return all;
}

void DamageList::Add(const proto::DamagedRecords& file, int64_t sound) {
  if (all_.count() == 0) all_.set_first_error(file.first_error());
  all_.set_count(all_.count() + file.count());
  for (const int64_t place : file.places()) all_.add_places(count_ + place);
  count_ += file.count() + sound;
}

absl::Status CheckDamage(const proto::DamagedRecords& damaged, int64_t allowed, const char* what) {
  if (damaged.count() <= allowed) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Plural(damaged.count(), what),
                                                 ", \"skip_damaged\" allows ", allowed,
                                                 "; the first: ", damaged.first_error()));
}

int ReadersOf(size_t files) {
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  return static_cast<int>(std::min({files, kReadersMax, cores}));
}

namespace {

void ForEach(size_t count, const std::function<void(size_t i)>& read) {
  const int threads = ReadersOf(count);
  if (threads <= 1) {
    for (size_t i = 0; i < count; ++i) read(i);
    return;
  }
  // The pool's destructor waits for all tasks.
  ThreadPool pool(threads, "data files", count);
  for (size_t i = 0; i < count; ++i) pool.Submit([&read, i] { read(i); });
}

}  // namespace

void ForEachFile(const std::vector<std::string>& files, const std::function<void(size_t i)>& read,
                 const std::function<void(size_t i, absl::Status error)>& failed) {
  ForEach(files.size(), [&](size_t i) {
    try {
      read(i);
    } catch (const std::bad_alloc&) {
      failed(i, absl::ResourceExhaustedError(absl::StrCat(
                    "data file ", files[i], ": it does not fit into this worker's memory")));
    }
  });
}

absl::Status ReadInParallel(size_t count, const std::function<absl::Status(size_t i)>& read) {
  std::vector<absl::Status> results(count);
  std::atomic<size_t> failed = count;  // The lowest.
  ForEach(count, [&](size_t i) {
    if (i > failed) return;
    try {
      results[i] = read(i);
    } catch (const std::bad_alloc&) {
      results[i] = absl::ResourceExhaustedError("the data do not fit into this worker's memory");
    }
    if (results[i].ok()) return;
    for (size_t lowest = failed; i < lowest && !failed.compare_exchange_weak(lowest, i);) {
    }
  });
  for (absl::Status& result : results) CAIRN_RETURN_IF_ERROR(std::move(result));
  return absl::OkStatus();
}

absl::Status Join(const Array& next, Array* all) {
  if (all->rows() > 0) return next.rows() > 0 ? all->Append(next) : absl::OkStatus();
  *all = next;
  return absl::OkStatus();
}

absl::StatusOr<Array> ReadArrays(const std::vector<std::string>& files, ReadArray read,
                                 DataStorage* storage) {
  CAIRN_ASSIGN_OR_RETURN(
      const std::vector<Array> arrays,
      ReadAll<Array>(files, [=](const std::string& path) -> absl::StatusOr<Array> {
        CAIRN_ASSIGN_OR_RETURN(auto file, LoadFile(path, storage));
        return read(std::move(file), storage);
      }));
  Array all = arrays[0];
  for (size_t i = 1; i < arrays.size(); ++i) CAIRN_RETURN_IF_ERROR(Join(arrays[i], &all));
  return all;
}

}  // namespace cairn::worker
