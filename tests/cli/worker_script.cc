#include "tests/cli/worker_script.h"

#include <sys/stat.h>

#include "cli/files.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

// The paths appear in the task in this order.
constexpr char kNames[] =
    "#!/bin/sh\n"
    "mode=$1\n"
    "set -- $(grep -ao '/proc/[0-9]*/fd/[0-9]*' $2)\n"
    "values=$1; result=$2; output=$3; output2=$4\n";

}  // namespace

void WriteWorkerScript(const std::string& file, const std::string& script) {
  const absl::Status written = WriteFile(file, kNames + script + "\n");
  ASSERT_TRUE(written.ok()) << written;
  ASSERT_EQ(chmod(file.c_str(), 0755), 0);
}

}  // namespace cairn::cli
