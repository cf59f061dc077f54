#include "job/data_formats/named_places.h"

#include "gtest/gtest.h"

namespace cairn::job {
namespace {

std::string Check(const std::vector<std::string>& places, const std::vector<NamedPlace>& columns) {
  return std::string(CheckNamedPlaces("f", "column", "input", places, columns).message());
}

TEST(NamedPlacesTest, TheOnlyPlaceNeedNoName) {
  EXPECT_EQ(Check({"a"}, {{false, ""}, {true, "a"}}), "");
  EXPECT_EQ(Check({"a"}, {}), "");
}

TEST(NamedPlacesTest, EveryPlaceHasAColumnAndEveryColumnAPlace) {
  EXPECT_EQ(Check({"a", "b"}, {{true, "b"}, {true, "a"}, {true, "b"}}), "");
  EXPECT_EQ(Check({"a", "b"}, {{true, "a"}, {false, ""}}),
            "f[1].input: is missing; the model's inputs are a, b");
  EXPECT_EQ(Check({"a", "b"}, {{true, "c"}}),
            "f[0].input: the model has no input \"c\"; it has a, b");
  EXPECT_EQ(Check({"a", "b"}, {{true, "a"}}),
            "f: no column has \"input\": \"b\", which the model wants");
}

}  // namespace
}  // namespace cairn::job
