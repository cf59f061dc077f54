#include "tests/common/faulty_files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

// Redefines the C library's functions. Nothing here may allocate memory or use a lock: a call may
// come from anywhere, even from the dynamic linker. Rules are few, so they are read again from the
// rule file for each call on a file of interest.

namespace {

constexpr size_t kTextMax = 4096;
constexpr size_t kPathMax = 1024;

struct Rule {
  char operation[16];
  char path[512];
  int error;  // 0: the call waits until the rule is gone. See FaultyFiles::Fault.
};

template <typename Function>
Function Original(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

long RawRead(int descriptor, char* to, size_t count) {
  static const auto original = Original<ssize_t (*)(int, void*, size_t)>("read");
  return original(descriptor, to, count);
}

long RawWrite(int descriptor, const char* from, size_t count) {
  static const auto original = Original<ssize_t (*)(int, const void*, size_t)>("write");
  return original(descriptor, from, count);
}

int RawOpen(const char* path, int flags, mode_t mode) {
  static const auto original = Original<int (*)(const char*, int, ...)>("open");
  return original(path, flags, mode);
}

// The text of the rule file; empty if there is none.
size_t ReadRules(const char* rules, char* text) {
  const int descriptor = RawOpen(rules, O_RDONLY | O_CLOEXEC, 0);
  if (descriptor < 0) return 0;
  const long count = RawRead(descriptor, text, kTextMax - 1);
  close(descriptor);
  text[count > 0 ? count : 0] = '\0';
  return count > 0 ? count : 0;
}

// Finds the first rule for this call.
bool Find(const char* rules, const char* operation, const char* path, Rule* rule) {
  char text[kTextMax];
  if (ReadRules(rules, text) == 0) return false;
  for (char* line = text; line != nullptr && *line != '\0';) {
    char* end = strchr(line, '\n');
    if (end != nullptr) *end = '\0';
    if (sscanf(line, "%15s %511s %d", rule->operation, rule->path, &rule->error) == 3 &&
        strcmp(rule->operation, operation) == 0 && strstr(path, rule->path) != nullptr) {
      return true;
    }
    line = end != nullptr ? end + 1 : nullptr;
  }
  return false;
}

void NoteFired(const char* rules, const Rule& rule) {
  char path[1024];
  snprintf(path, sizeof path, "%s.fired", rules);
  const int descriptor = RawOpen(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return;
  char line[600];
  const int length = snprintf(line, sizeof line, "%s %s\n", rule.operation, rule.path);
  RawWrite(descriptor, line, length);
  close(descriptor);
}

// Returns the error that the call must report, 0 if it goes through, or kShort.
int FaultOf(const char* operation, const char* path) {
  const char* const rules = getenv("CAIRN_FAULTY_FILES");
  if (rules == nullptr || strncmp(path, "/proc/", 6) == 0) return 0;
  Rule rule;
  bool noted = false;
  while (Find(rules, operation, path, &rule)) {
    if (!noted) NoteFired(rules, rule);
    noted = true;
    if (rule.error == cairn::testing::FaultyFiles::kSlow) {
      const timespec delay = {0, 5'000'000};
      nanosleep(&delay, nullptr);
      return 0;
    }
    if (rule.error != 0) return rule.error;
    const timespec pause = {0, 10'000'000};
    nanosleep(&pause, nullptr);
  }
  return 0;
}

// False: it is not a file.
bool PathOf(int descriptor, char (&path)[kPathMax]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const int saved = errno;
  const ssize_t length = readlink(link, path, sizeof path - 1);
  errno = saved;
  if (length <= 0 || path[0] != '/') return false;
  path[length] = '\0';
  return true;
}

int FaultOf(const char* operation, int descriptor) {
  if (getenv("CAIRN_FAULTY_FILES") == nullptr) return 0;
  char path[kPathMax];
  return PathOf(descriptor, path) ? FaultOf(operation, path) : 0;
}

// ---- Records: lines "OPERATION NUMBER PATH PATH" in the order of the operations; no spaces in
// paths.

void RecordIn(const char* record, const char* operation, long number, const char* path,
              const char* other = "-") {
  if (record == nullptr || strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/", 5) == 0) {
    return;
  }
  const int saved = errno;
  char line[2 * kPathMax + 64];
  const int length = snprintf(line, sizeof line, "%s %ld %s %s\n", operation, number, path, other);
  const int descriptor = RawOpen(record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor >= 0) {
    RawWrite(descriptor, line, length);
    close(descriptor);
  }
  errno = saved;
}

// The record of PowerFailure. A change is recorded before it is made, a sync after it.
void Record(const char* operation, long number, const char* path, const char* other = "-") {
  RecordIn(getenv("CAIRN_RECORD_SYNCS"), operation, number, path, other);
}

// The bytes of a file; -1: there is none.
long SizeOf(const char* path) {
  struct stat status;
  const int saved = errno;
  const bool found = stat(path, &status) == 0 && S_ISREG(status.st_mode);
  errno = saved;
  return found ? status.st_size : -1;
}

void RecordOpen(const char* path, int flags) {
  RecordIn(getenv("CAIRN_RECORD_OPENS"), "open", getpid(), path);
  if (getenv("CAIRN_RECORD_SYNCS") == nullptr || (flags & O_ACCMODE) == O_RDONLY) return;
  const long size = SizeOf(path);
  if (size < 0 && (flags & O_CREAT) == 0) return;
  // The present bytes of a file that the record does not know count as durable.
  Record(size < 0 ? "create" : "open", (flags & O_TRUNC) != 0 ? 0 : size, path);
}

void RecordSync(int descriptor) {
  char path[kPathMax];
  if (getenv("CAIRN_RECORD_SYNCS") == nullptr || !PathOf(descriptor, path)) return;
  const long size = SizeOf(path);
  Record(size < 0 ? "sync_directory" : "sync", size, path);
}

// A file that the renaming replaces is kept beside the record.
void RecordRename(const char* from, const char* to) {
  const char* const record = getenv("CAIRN_RECORD_SYNCS");
  if (record == nullptr) return;
  if (SizeOf(to) >= 0) {
    static std::atomic<int> count = 0;
    char kept[kPathMax];
    snprintf(kept, sizeof kept, "%s.%d.%d", record, static_cast<int>(getpid()), count++);
    const int saved = errno;
    if (link(to, kept) == 0) Record("replaced", 0, to, kept);
    errno = saved;
  }
  Record("rename", 0, from, to);
}

}  // namespace

// NOLINTBEGIN: signatures of the C library.
#define CAIRN_FAULTY(operation, where)                          \
  if (const int error = FaultOf(operation, where); error > 0) { \
    errno = error;                                              \
    return -1;                                                  \
  }
// The same, and shortens a transfer of `count` bytes.
#define CAIRN_FAULTY_TRANSFER(operation, where, count)          \
  if (const int error = FaultOf(operation, where); error > 0) { \
    errno = error;                                              \
    return -1;                                                  \
  } else if (error == cairn::testing::FaultyFiles::kShort) {    \
    count = (count + 1) / 2;                                    \
  }

extern "C" {

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  CAIRN_FAULTY("open", path);
  RecordOpen(path, flags);
  return RawOpen(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  CAIRN_FAULTY("open", path);
  RecordOpen(path, flags);
  return RawOpen(path, flags, mode);
}

// What the functions above become with _FORTIFY_SOURCE.
int __open_2(const char* path, int flags) {
  CAIRN_FAULTY("open", path);
  RecordOpen(path, flags);
  return RawOpen(path, flags, 0);
}

int __open64_2(const char* path, int flags) {
  CAIRN_FAULTY("open", path);
  RecordOpen(path, flags);
  return RawOpen(path, flags, 0);
}

ssize_t __read_chk(int descriptor, void* to, size_t count, size_t) {
  return read(descriptor, to, count);
}

ssize_t __pread_chk(int descriptor, void* to, size_t count, off_t offset, size_t) {
  return pread(descriptor, to, count, offset);
}

ssize_t __pread64_chk(int descriptor, void* to, size_t count, off64_t offset, size_t) {
  return pread64(descriptor, to, count, offset);
}

ssize_t read(int descriptor, void* to, size_t count) {
  CAIRN_FAULTY_TRANSFER("read", descriptor, count);
  return RawRead(descriptor, static_cast<char*>(to), count);
}

ssize_t pread(int descriptor, void* to, size_t count, off_t offset) {
  static const auto original = Original<ssize_t (*)(int, void*, size_t, off_t)>("pread");
  CAIRN_FAULTY_TRANSFER("read", descriptor, count);
  return original(descriptor, to, count, offset);
}

ssize_t pread64(int descriptor, void* to, size_t count, off64_t offset) {
  static const auto original = Original<ssize_t (*)(int, void*, size_t, off64_t)>("pread64");
  CAIRN_FAULTY_TRANSFER("read", descriptor, count);
  return original(descriptor, to, count, offset);
}

ssize_t write(int descriptor, const void* from, size_t count) {
  CAIRN_FAULTY_TRANSFER("write", descriptor, count);
  return RawWrite(descriptor, static_cast<const char*>(from), count);
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  static const auto original = Original<ssize_t (*)(int, const iovec*, int)>("writev");
  size_t first = count > 0 ? parts[0].iov_len : 0;
  const size_t whole = first;
  CAIRN_FAULTY_TRANSFER("write", descriptor, first);
  if (first < whole)
    return RawWrite(descriptor, static_cast<const char*>(parts[0].iov_base), first);
  return original(descriptor, parts, count);
}

ssize_t pwrite(int descriptor, const void* from, size_t count, off_t offset) {
  static const auto original = Original<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  CAIRN_FAULTY_TRANSFER("write", descriptor, count);
  return original(descriptor, from, count, offset);
}

ssize_t pwrite64(int descriptor, const void* from, size_t count, off64_t offset) {
  static const auto original = Original<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
  CAIRN_FAULTY_TRANSFER("write", descriptor, count);
  return original(descriptor, from, count, offset);
}

// Inside the C library it does not call the above.
size_t fwrite(const void* from, size_t size, size_t count, FILE* file) {
  static const auto original = Original<size_t (*)(const void*, size_t, size_t, FILE*)>("fwrite");
  if (const int error = FaultOf("write", fileno(file)); error > 0) {
    errno = error;
    return 0;
  }
  return original(from, size, count, file);
}

int fsync(int descriptor) {
  static const auto original = Original<int (*)(int)>("fsync");
  CAIRN_FAULTY("sync", descriptor);
  const int result = original(descriptor);
  if (result == 0) RecordSync(descriptor);
  return result;
}

int fdatasync(int descriptor) {
  static const auto original = Original<int (*)(int)>("fdatasync");
  CAIRN_FAULTY("sync", descriptor);
  const int result = original(descriptor);
  if (result == 0) RecordSync(descriptor);
  return result;
}

int fstat(int descriptor, struct stat* status) {
  static const auto original = Original<int (*)(int, struct stat*)>("fstat");
  CAIRN_FAULTY("stat", descriptor);
  return original(descriptor, status);
}

int stat(const char* path, struct stat* status) {
  static const auto original = Original<int (*)(const char*, struct stat*)>("stat");
  CAIRN_FAULTY("stat", path);
  return original(path, status);
}

int rename(const char* from, const char* to) {
  static const auto original = Original<int (*)(const char*, const char*)>("rename");
  CAIRN_FAULTY("rename", to);
  RecordRename(from, to);
  return original(from, to);
}

int unlink(const char* path) {
  static const auto original = Original<int (*)(const char*)>("unlink");
  CAIRN_FAULTY("unlink", path);
  return original(path);
}

}  // extern "C"
// NOLINTEND

namespace cairn::testing {

FaultyFiles::FaultyFiles(std::string rules) : rules_(std::move(rules)) {}

void FaultyFiles::Set(const std::vector<Fault>& faults) const {
  std::string text;
  for (const Fault& fault : faults) {
    text += fault.operation + " " + fault.path + " " + std::to_string(fault.error) + "\n";
  }
  // Replaced in one step: a reader never sees half of it.
  const std::string draft = rules_ + ".draft";
  FILE* const file = fopen(draft.c_str(), "w");
  if (file == nullptr) abort();
  fwrite(text.data(), 1, text.size(), file);
  fclose(file);
  if (::rename(draft.c_str(), rules_.c_str()) != 0) abort();
}

int FaultyFiles::fired() const {
  FILE* const file = fopen((rules_ + ".fired").c_str(), "r");
  if (file == nullptr) return 0;
  int lines = 0;
  for (int c = fgetc(file); c != EOF; c = fgetc(file)) lines += c == '\n' ? 1 : 0;
  fclose(file);
  return lines;
}

int PowerFailure::Strike(const std::string& folder) const {
  namespace fs = std::filesystem;
  struct Change {
    std::string operation, path, other;
  };
  std::map<std::string, uintmax_t> durable_bytes;
  std::vector<Change> pending;  // Changes of directories that are not durable.
  std::vector<std::string> kept;
  std::ifstream record(record_);
  Change change;
  for (long number; record >> change.operation >> number >> change.path >> change.other;) {
    if (change.operation == "replaced") kept.push_back(change.other);
    if (change.path.rfind(folder, 0) != 0) continue;
    if (change.operation == "create") {
      durable_bytes[change.path] = 0;
      pending.push_back(change);
    } else if (change.operation == "open") {
      uintmax_t& bytes = durable_bytes.try_emplace(change.path, number).first->second;
      bytes = std::min<uintmax_t>(bytes, number);
    } else if (change.operation == "sync") {
      durable_bytes[change.path] = number;
    } else if (change.operation == "replaced") {
      pending.push_back(change);
    } else if (change.operation == "rename") {
      pending.push_back(change);
      const auto moved = durable_bytes.extract(change.path);
      durable_bytes.erase(change.other);
      if (!moved.empty()) durable_bytes[change.other] = moved.mapped();
    } else if (change.operation == "sync_directory") {
      std::erase_if(pending, [&](const Change& each) {
        const std::string& name = each.operation == "rename" ? each.other : each.path;
        return fs::path(name).parent_path() == change.path;
      });
    }
  }
  record.close();
  int changed = 0;
  for (const auto& [path, bytes] : durable_bytes) {
    if (!fs::is_regular_file(path) || fs::file_size(path) <= bytes) continue;
    fs::resize_file(path, bytes);
    ++changed;
  }
  std::reverse(pending.begin(), pending.end());
  for (const Change& each : pending) {
    std::error_code gone;  // It was not made, or has been deleted.
    if (each.operation == "create") {
      changed += fs::remove(each.path, gone) ? 1 : 0;
    } else if (each.operation == "rename") {
      fs::rename(each.other, each.path, gone);
      changed += gone ? 0 : 1;
    } else if (!fs::exists(each.path)) {
      fs::copy_file(each.other, each.path, gone);
    }
  }
  fs::remove(record_);
  for (const std::string& path : kept) fs::remove(path);
  return changed;
}

}  // namespace cairn::testing
