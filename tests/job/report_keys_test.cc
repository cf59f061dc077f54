#include "job/report_keys.h"

#include "gtest/gtest.h"

namespace cairn::job {
namespace {

TEST(ReportKeysTest, ReportFieldsAreKeysAndMetricNamesAreNot) {
  for (const char* key : {"loss", "state", "batch", "workers_lost"}) {
    EXPECT_TRUE(IsReportKey(key)) << key;
  }
  for (const char* name : {"accuracy", "val_loss", "head_loss", "State", "", "pr_auc"}) {
    EXPECT_FALSE(IsReportKey(name)) << name;
  }
}

}  // namespace
}  // namespace cairn::job
