// Records the files that a process opens: a program preloads this library. It appends a line "PID
// PATH" for each call of open to the file that the environment variable CAIRN_RECORD_OPENED_FILES
// names. Nothing here may allocate memory or use a lock, as in faulty_files.cc.

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace {

// A line longer than this is cut.
constexpr int kLineMax = 4096;

int RawOpen(const char* path, int flags, mode_t mode) {
  static const auto original =
      reinterpret_cast<int (*)(const char*, int, ...)>(dlsym(RTLD_NEXT, "open"));
  return original(path, flags, mode);
}

int RecordedOpen(const char* path, int flags, mode_t mode) {
  const int opened = RawOpen(path, flags, mode);
  const char* const record = getenv("CAIRN_RECORD_OPENED_FILES");
  if (opened < 0 || record == nullptr) return opened;
  const int saved = errno;
  char line[kLineMax];
  const int length = snprintf(line, sizeof line, "%d %s\n", static_cast<int>(getpid()), path);
  const int descriptor = RawOpen(record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor >= 0) {
    // One call: lines of several processes do not mix.
    (void)!write(descriptor, line, length < kLineMax ? length : kLineMax - 1);
    close(descriptor);
  }
  errno = saved;
  return opened;
}

}  // namespace

// NOLINTBEGIN: signatures of the C library.
extern "C" {

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return RecordedOpen(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return RecordedOpen(path, flags, mode);
}

// What the functions above become with _FORTIFY_SOURCE.
int __open_2(const char* path, int flags) { return RecordedOpen(path, flags, 0); }
int __open64_2(const char* path, int flags) { return RecordedOpen(path, flags, 0); }

}  // extern "C"
// NOLINTEND
