#include "common/status_macros.h"

#include <gtest/gtest.h>

#include <memory>

namespace cairn {
namespace {

absl::Status Passed(const absl::Status& status) {
  CAIRN_RETURN_IF_ERROR(status);
  return absl::AlreadyExistsError("went on");
}

absl::StatusOr<int> Doubled(absl::StatusOr<std::unique_ptr<int>> number) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<int> owned, std::move(number));
  int value = 0;
  CAIRN_ASSIGN_OR_RETURN(value, absl::StatusOr<int>(*owned));
  return 2 * value;
}

TEST(StatusMacrosTest, AnErrorReturnsFromTheFunction) {
  EXPECT_EQ(Passed(absl::NotFoundError("x")), absl::NotFoundError("x"));
  EXPECT_EQ(Passed(absl::OkStatus()), absl::AlreadyExistsError("went on"));
}

TEST(StatusMacrosTest, AValueIsMovedOutOrItsErrorReturned) {
  EXPECT_EQ(*Doubled(std::make_unique<int>(21)), 42);
  EXPECT_EQ(Doubled(absl::DataLossError("gone")).status(), absl::DataLossError("gone"));
}

}  // namespace
}  // namespace cairn
