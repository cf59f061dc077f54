#ifndef CAIRN_TESTS_COMMON_FAULTY_FILES_H_
#define CAIRN_TESTS_COMMON_FAULTY_FILES_H_

#include <string>
#include <vector>

namespace cairn::testing {

// Makes operations on files fail or hang, as a bad disk or a dead file server does. It replaces the
// functions open, read, write, sync, stat, rename and unlink of the C library: in a test that links
// this library, or in a daemon that preloads it as a shared library. A process obeys the rule file
// that the environment variable CAIRN_FAULTY_FILES names.
class FaultyFiles {
 public:
  struct Fault {
    std::string operation;  // "open", "read", "write", "sync", "stat", "rename" or "unlink".
    std::string path;       // Part of the file's path; no spaces.
    // As errno. 0: the call hangs until the fault is removed. kShort, kSlow: see below.
    int error = 0;
  };

  // A read or a write transfers half of its bytes only, as the system may do at any time.
  static constexpr int kShort = -1;
  // A call takes 5 ms longer.
  static constexpr int kSlow = -2;

  // `rules`: the path of the rule file.
  explicit FaultyFiles(std::string rules);

  // Replaces all faults. A process applies them from its next call on, and to calls that hang.
  void Set(const std::vector<Fault>& faults) const;
  void Clear() const { Set({}); }

  // The number of calls that have failed or hung so far. A test in which a fault never fired has
  // shown nothing.
  int fired() const;

 private:
  const std::string rules_;
};

// A process with the same library appends a line "open PID PATH -" for each file that it opens to
// the file that the environment variable CAIRN_RECORD_OPENS names.

// Does to files what a power failure does. Processes with the same library append to the record
// file, which the environment variable CAIRN_RECORD_SYNCS names, what they create, rename and sync.
class PowerFailure {
 public:
  explicit PowerFailure(std::string record) : record_(std::move(record)) {}

  // Call when the recording processes have been killed. In `folder` it removes unsynced data at the
  // ends of files, and undoes creations and renames in directories that were not synced since.
  // Deletions and overwritten data are durable at once. Returns the number of changed files.
  // What is left is durable; the record begins again.
  int Strike(const std::string& folder) const;

 private:
  const std::string record_;
};

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_COMMON_FAULTY_FILES_H_
