#include "cli/model/raw_columns.h"

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/example_job.h"

namespace cairn::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

proto::DataFeature Feature(const std::string& name) {
  proto::DataFeature feature;
  feature.set_name(name);
  return feature;
}

TEST(RawColumnsTest, ColumnsSayWhatTheJobDoesToTheirValues) {
  proto::JobPlan plan = ExamplePlan();
  auto* const csv = plan.mutable_job()->mutable_train()->mutable_csv();
  csv->add_features()->set_name("age");
  auto* const city = csv->add_features();
  city->set_name("city");
  city->set_categorical(true);
  city->set_unknown(true);
  auto* const user = csv->add_features();
  user->set_name("user");
  user->mutable_hash()->set_num_bins(5);
  auto* const vocabulary = plan.mutable_data()->add_vocabularies();
  vocabulary->set_column("city");
  vocabulary->add_names("Bern");
  const auto columns = RawColumnsOf(plan);
  ASSERT_TRUE(columns.ok()) << columns.status();
  ASSERT_EQ(columns->size(), 3);
  EXPECT_FALSE((*columns)[0].is_converted());
  EXPECT_TRUE((*columns)[1].has_names);
  EXPECT_TRUE((*columns)[1].unknown);
  EXPECT_THAT((*columns)[1].vocabulary, ElementsAre("Bern"));
  EXPECT_FALSE((*columns)[2].has_names);
  EXPECT_EQ((*columns)[2].hash->num_bins(), 5);
}

TEST(RawColumnsTest, TextsHaveTheTokensOfThePlan) {
  proto::JobPlan plan = ExamplePlan();
  plan.mutable_job()->mutable_train()->mutable_text()->add_files("x.txt");
  auto* const tokens = plan.mutable_data()->add_vocabularies();
  tokens->set_column("text");
  tokens->add_names("red");
  auto columns = RawColumnsOf(plan);
  ASSERT_TRUE(columns.ok()) << columns.status();
  ASSERT_EQ(columns->size(), 1);
  EXPECT_EQ((*columns)[0].name, "text");
  EXPECT_TRUE((*columns)[0].text.has_value());
  EXPECT_THAT((*columns)[0].vocabulary, ElementsAre("red"));
  // A model that takes texts has its own vocabulary.
  auto& input = *plan.mutable_model()->mutable_layers(0)->mutable_config()->mutable_fields();
  input["dtype"].set_string_value("string");
  columns = RawColumnsOf(plan);
  EXPECT_FALSE((*columns)[0].is_converted());
}

TEST(RawColumnsTest, ArraysHaveNoColumns) { EXPECT_THAT(*RawColumnsOf(ExamplePlan()), IsEmpty()); }

TEST(RawColumnsTest, WhatNoLayerDoesIsRefused) {
  proto::DataFeature filled = Feature("x"), named = Feature("x"), lists = Feature("x");
  filled.set_default_(0);
  named.set_default_name("a");
  lists.add_vocabulary("a");
  lists.set_max_length(3);
  const std::pair<proto::DataFeature, const char*> cases[] = {
      {filled, "replaced where they are missing"},
      {named, "replaced where they are missing"},
      {lists, "lists of names, of any length"}};
  for (const auto& [feature, work] : cases) {
    proto::JobPlan tfrecord = ExamplePlan(), parquet = ExamplePlan();
    *tfrecord.mutable_job()->mutable_train()->mutable_tfrecord()->add_features() = feature;
    *parquet.mutable_job()->mutable_train()->mutable_parquet()->add_features() = feature;
    for (const proto::JobPlan& plan : {tfrecord, parquet}) {
      EXPECT_EQ(RawColumnsOf(plan).status().message(),
                std::string("the values of \"x\" are ") + work +
                    ", which no layer does; export without the flag and prepare the inputs before");
    }
  }
  proto::JobPlan csv = ExamplePlan();
  auto* const column = csv.mutable_job()->mutable_train()->mutable_csv()->add_features();
  column->set_name("age");
  column->mutable_missing();
  EXPECT_THAT(std::string(RawColumnsOf(csv).status().message()),
              HasSubstr("missing values of column age are replaced, which no layer does"));
}

TEST(RawColumnsTest, NamesThatAreNotUtf8AreRefused) {
  proto::JobPlan plan = ExamplePlan();
  proto::DataFeature& feature =
      *plan.mutable_job()->mutable_train()->mutable_parquet()->add_features();
  feature = Feature("city");
  feature.set_categorical(true);
  auto* const vocabulary = plan.mutable_data()->add_vocabularies();
  vocabulary->set_column("city");
  vocabulary->add_names("M\xfcnchen");
  EXPECT_THAT(std::string(RawColumnsOf(plan).status().message()),
              HasSubstr("column city has the name \"M\\xfcnchen\", which is not UTF-8"));
}

}  // namespace
}  // namespace cairn::cli
