#include "tests/end_to_end/sanitizer_reports.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace cairn::testing {
namespace {

namespace fs = std::filesystem;

// Every program writes its reports to FOLDER/report.PID; programs without reports write no file.
class SanitizerReports : public ::testing::Environment {
 public:
  void SetUp() override {
    fs::create_directories(folder_);
    for (const char* const name : {"ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
      const char* const given = std::getenv(name);
      // With LD_PRELOAD the library of a test comes before that of the address sanitizer. A process
      // that ends without its threads, because one of them may hang, leaks them.
      const std::string options =
          "verify_asan_link_order=0:report_thread_leaks=0:log_path=" + folder_ + "/report";
      setenv(name, (given == nullptr ? options : given + (":" + options)).c_str(), 1);
    }
  }

  void TearDown() override {
    for (const fs::directory_entry& file : fs::directory_iterator(folder_)) {
      std::ostringstream text;
      text << std::ifstream(file.path()).rdbuf();
      ADD_FAILURE() << file.path() << ":\n" << text.str();
    }
    fs::remove_all(folder_);
  }

 private:
  const std::string folder_ = ::testing::TempDir() + "/sanitizer_reports";
};

}  // namespace

bool WatchSanitizerReports() {
  return ::testing::AddGlobalTestEnvironment(new SanitizerReports) != nullptr;
}

}  // namespace cairn::testing
