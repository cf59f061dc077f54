// Bad data, each submitted to the same cluster: refused with a reason of its own and exit code 2,
// and the cluster serves the next job.

#include <functional>
#include <set>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

class BadInput : public ::testing::Test {
 protected:
  void SetUp() override {
    counting_.batches = 50;
    counting_.batches_per_epoch = 50;
    counting_.rows = 8;
    good_ = json::parse(ReadFile(WriteCountingJob(counting_, cluster_.folder("job"))));
    cluster_.StartAll();
  }

  CommandResult Submit(const json& job) {
    WriteFile(cluster_.folder("job/bad.json"), job.dump());
    return cluster_.Cairn({"submit", cluster_.folder("job/bad.json"), "--follow"}, seconds(60));
  }

  // The good job with one change is refused, and the message has `named` in it.
  void ExpectRefused(const std::string& named, const std::function<void(json*)>& change) {
    json job = good_;
    change(&job);
    const CommandResult result = Submit(job);
    EXPECT_EQ(result.exit_code, 2) << job << result.output << result.errors;
    EXPECT_NE(result.errors.find(named), std::string::npos) << named << "\n" << result.errors;
    EXPECT_TRUE(reasons_.insert(result.errors).second) << "said before: " << result.errors;
  }

  void ExpectDataRefused(const std::string& named, const std::string& bytes, bool is_labels) {
    const std::string file = "data_" + std::to_string(reasons_.size()) + ".npy";
    WriteFile(cluster_.folder("job/" + file), bytes);
    ExpectRefused(named, [&](json* job) {
      (*job)["train"]["npy"][is_labels ? "labels" : "features"] = file;
    });
  }

  void ExpectNextJobIsServed() {
    const CommandResult result = cluster_.Cairn(
        {"submit", WriteCountingJob(counting_, cluster_.folder("next")), "--follow"}, seconds(60));
    EXPECT_EQ(result.exit_code, 0) << result.output << result.errors << cluster_.Logs();
  }

  TestCluster cluster_{1, 1};
  CountingJob counting_;
  json good_;
  std::set<std::string> reasons_;
};

TEST_F(BadInput, DataAreRefusedByFileAndTheNextIsServed) {
  ExpectRefused("gone.npy", [](json* job) { (*job)["train"]["npy"]["features"] = "gone.npy"; });
  const std::string good = ReadFile(cluster_.folder("job/x.npy"));
  ExpectDataRefused(".npy", "", false);
  ExpectDataRefused(".npy", "not numpy at all", false);
  ExpectDataRefused(".npy", good.substr(0, good.size() / 2), false);
  ExpectDataRefused("400", EncodeNpy({{7, 8}, std::vector<float>(56, 1.0f)}), false);
  ExpectDataRefused("(9,)", EncodeNpy({{400, 9}, std::vector<float>(3600, 1.0f)}), false);
  ExpectDataRefused("labels", EncodeNpy({{400, 5}, std::vector<float>(2000, 1.0f)}), true);
  ExpectNextJobIsServed();
}

// One CSV file as the training data, with labels in column "y".
TEST_F(BadInput, CsvIsRefusedByLineAndColumnAndTheNextIsServed) {
  const auto expect = [this](const std::string& named, const std::string& text) {
    const std::string file = "data_" + std::to_string(reasons_.size()) + ".csv";
    WriteFile(cluster_.folder("job/" + file), text);
    ExpectRefused(named, [&](json* job) {
      (*job)["train"] = {{"csv", {{"files", file}, {"labels", "y"}}}};
    });
  };
  const std::string header = "a,b,c,d,e,f,g,h,y\n";
  const std::string row = "1,1,1,1,1,1,1,1,2\n";
  expect("line 3, column \"c\": \"x\" is not a number", header + row + "1,1,x,1,1,1,1,1,2\n");
  expect("line 2, column \"h\": \"\" is a missing value", header + "1,1,1,1,1,1,1,,2\n");
  expect("line 2: 3 fields, the first line has 9", header + "1,1,1\n");
  expect("a quote is opened and not closed", header + "1,\"1,1,1,1,1,1,1,2\n");
  expect("it has no column \"y\"", "a,b\n1,2\n");
  expect("two columns are called \"a\"", "a,a,y\n1,2,3\n");
  expect("row 0: element 1 is nan", header + "1,nan,1,1,1,1,1,1,2\n");
  expect("expected by model input", "a,y\n1,2\n");
  expect("it holds no examples", header);
  expect("it is empty", "");
  expect("a zero byte", header + std::string("1,\0,1,1,1,1,1,1,2\n", 18));
  ExpectNextJobIsServed();
}

TEST_F(BadInput, FilesThatAreNotWhatTheyAreCalledAreRefusedAndTheNextIsServed) {
  ExpectRefused("no data file matches",
                [](json* job) { (*job)["train"]["npy"]["features"] = "nothing-*.npy"; });
  WriteFile(cluster_.folder("job/plain.npy.gz"), ReadFile(cluster_.folder("job/x.npy")));
  ExpectRefused("its name says gzip",
                [](json* job) { (*job)["train"]["npy"]["features"] = "plain.npy.gz"; });
  WriteFile(cluster_.folder("job/photo.idx"), "\x89PNG\r\n\x1a\n0123456789");
  ExpectRefused("not an idx file: it begins with bytes 89504e47", [](json* job) {
    (*job)["train"] = {{"idx", {{"features", "photo.idx"}, {"labels", "photo.idx"}}}};
  });
  WriteFile(cluster_.folder("job/short.bin"), std::string(3000, 1));
  ExpectRefused("3000 bytes are 0 examples of 3073 bytes", [](json* job) {
    (*job)["train"] = {{"cifar10", {{"files", "short.bin"}}}};
  });
  ExpectRefused("validation_fraction", [](json* job) { (*job)["validation_fraction"] = 0.9999; });
  ExpectRefused("one_hot", [](json* job) {
    (*job)["loss"] = "mse";
    (*job)["train"]["one_hot"] = "yes";
  });
  ExpectNextJobIsServed();
}

}  // namespace
}  // namespace cairn::testing
