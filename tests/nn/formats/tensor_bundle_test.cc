#include "nn/formats/tensor_bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "nn/formats/crc32c.h"
#include "nn/formats/keras_json.h"
#include "nn/formats/sorted_table.h"
#include "proto/tensorflow.pb.h"

namespace cairn::nn {
namespace {

namespace tf = ::cairn::tensorflow;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<NamedTensor>& Weights() {
  static const auto* const weights = new std::vector<NamedTensor>{
      {"first/kernel", {2, 1}, {1, 2}}, {"first/bias", {1}, {3}}, {"scalar", {}, {4}}};
  return *weights;
}

std::string Error(std::string_view index, absl::Span<const std::string> data) {
  return std::string(ReadTensorBundle(index, data).status().message());
}

// A checkpoint whose only variable "w" is `entry` in `data`, with the checksum of all of it.
absl::StatusOr<ImportedModel> ReadOne(tf::BundleEntryProto entry, const std::string& data,
                                      int copies = 1) {
  if (entry.crc32c() == 0) entry.set_crc32c(MaskedCrc(Crc32c(data)));
  if (entry.size() == 0) entry.set_size(data.size());
  tf::BundleHeaderProto header;
  header.set_num_shards(1);
  std::map<std::string, std::string> entries = {{"", header.SerializeAsString()}};
  for (int i = 0; i < copies; ++i) {
    entries[std::string(i + 1, 'w')] = entry.SerializeAsString();
  }
  return ReadTensorBundle(WriteSortedTable(entries), {data});
}

tf::BundleEntryProto Entry(tf::DataType type, const std::vector<int64_t>& shape) {
  tf::BundleEntryProto entry;
  entry.set_dtype(type);
  for (const int64_t size : shape) entry.mutable_shape()->add_dim()->set_size(size);
  return entry;
}

TEST(TensorBundleTest, WhatIsWrittenIsRead) {
  const auto files = WriteTensorBundle({}, Weights());
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 2);
  EXPECT_TRUE(IsTensorBundle((*files)[1]));
  EXPECT_THAT(TensorBundleFiles((*files)[1], "a.ckpt.index").value(),
              ElementsAre("a.ckpt.data-00000-of-00001"));
  const auto model = ReadTensorBundle((*files)[1], {(*files)[0]});
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->weights.size(), 3);
  EXPECT_EQ(model->weights[0].name, "first/bias");
  EXPECT_EQ(model->weights[1].name, "first/kernel");
  EXPECT_THAT(model->weights[1].shape, ElementsAre(2, 1));
  EXPECT_THAT(model->weights[1].values, ElementsAre(1, 2));
  EXPECT_TRUE(model->weights[2].shape.empty());
}

TEST(TensorBundleTest, DamagedValuesAreRefused) {
  auto files = WriteTensorBundle({}, Weights()).value();
  EXPECT_THAT(std::string(TensorBundleFiles(files[1], "ckpt").status().message()),
              HasSubstr("must be named PREFIX.index"));
  EXPECT_THAT(Error(files[1], {}), HasSubstr("has 1 data files, not 0"));
  EXPECT_THAT(Error(files[1], {files[0].substr(0, 4)}), HasSubstr("beyond the end"));
  files[0][0] ^= 1;
  EXPECT_THAT(Error(files[1], {files[0]}), HasSubstr("variable first/kernel has a wrong checksum"));
}

TEST(TensorBundleTest, OtherFloatsAreConverted) {
  const auto values = [](tf::DataType type, std::vector<int64_t> shape, const std::string& data) {
    const auto model = ReadOne(Entry(type, shape), data);
    EXPECT_TRUE(model.ok()) << model.status();
    return model->weights.empty() ? std::vector<float>() : model->weights[0].values;
  };
  EXPECT_THAT(values(tf::DT_HALF, {3}, std::string("\x00\x3e\x01\x00\x00\xc0", 6)),
              ElementsAre(1.5f, 5.9604645e-8f, -2));
  EXPECT_THAT(values(tf::DT_BFLOAT16, {2}, std::string("\xc0\x3f\x00\xc0", 4)),
              ElementsAre(1.5f, -2));
  EXPECT_THAT(values(tf::DT_DOUBLE, {}, std::string("\0\0\0\0\0\0\xf8\x3f", 8)), ElementsAre(1.5f));
  // Counters and texts are no weights.
  EXPECT_THAT(values(tf::DT_INT64, {}, std::string(8, '\0')), ElementsAre());
}

TEST(TensorBundleTest, WrongDescriptionsAreRefused) {
  const std::string data(8, '\0');
  const auto error = [&](const tf::BundleEntryProto& entry, int copies = 1) {
    return std::string(ReadOne(entry, data, copies).status().message());
  };
  tf::BundleEntryProto entry = Entry(tf::DT_FLOAT, {2});
  EXPECT_EQ(error(entry), "");
  EXPECT_THAT(error(entry, 2), HasSubstr("overlaps"));
  EXPECT_THAT(error(Entry(tf::DT_FLOAT, {3})), HasSubstr("do not fill its shape"));
  EXPECT_THAT(error(Entry(tf::DT_FLOAT, {int64_t{1} << 40, int64_t{1} << 40})),
              HasSubstr("too large shape"));
  EXPECT_THAT(error(Entry(tf::DT_FLOAT, {-2, -1})), HasSubstr("too large shape"));
  entry.add_slices("");
  EXPECT_THAT(error(entry), HasSubstr("stored in slices"));
  entry = Entry(tf::DT_FLOAT, {2});
  entry.set_shard_id(1);
  EXPECT_THAT(error(entry), HasSubstr("in a data file that there is not"));
  entry = Entry(tf::DT_FLOAT, {2});
  entry.set_offset(std::numeric_limits<int64_t>::max());
  EXPECT_THAT(error(entry), HasSubstr("beyond the end"));
}

TEST(TensorBundleTest, AMappingRenamesVariables) {
  const auto files = WriteTensorBundle({}, Weights()).value();
  const std::string mapping =
      R"({"checkpoint": "run/ckpt-7", "variables": {"dense/kernel": "first/kernel"}})";
  EXPECT_THAT(MappedBundleFiles(mapping, "map.json").value(),
              ElementsAre("run/ckpt-7.index", "run/ckpt-7.data-00000-of-00001"));
  const std::vector<std::string> contents = {files[1], files[0]};
  const auto model = ReadMappedBundle(mapping, contents);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->weights[0].name, "first/bias");
  EXPECT_EQ(model->weights[1].name, "dense/kernel");
  const auto error = [&](const char* text) {
    return std::string(ReadMappedBundle(text, contents).status().message());
  };
  EXPECT_EQ(error(R"({"checkpoint": "c", "variables": {"a": "other"}})"),
            "variables.a: the checkpoint has no floating-point variable other");
  EXPECT_EQ(error(R"({"checkpoint": "c", "variables": {"a": "scalar", "b": "scalar"}})"),
            "variables.b: the checkpoint has for two variables only one scalar");
  EXPECT_THAT(error(R"({"checkpoint": "c"})"), HasSubstr("a mapping has two members"));
  EXPECT_THAT(error(R"({"checkpoint": "c", "variables": {"a": 1}})"),
              HasSubstr("variables.a: must be a string"));
}

TEST(TensorBundleTest, TheObjectsOfAModelAreThoseOfTfKeras) {
  const auto spec = ReadKerasJson(R"({"class_name": "Sequential", "config": {"layers": [
      {"class_name": "Flatten", "config": {"name": "flat", "batch_input_shape": [null, 2, 1]}},
      {"class_name": "Dense", "config": {"name": "first", "units": 1}}]}})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  const std::vector<NamedTensor> weights = {Weights()[0], Weights()[1]};
  const auto files = WriteTensorBundle(*spec, weights);
  ASSERT_TRUE(files.ok()) << files.status();
  const auto entries = ReadSortedTable((*files)[1]).value();
  tf::BundleEntryProto entry;
  ASSERT_TRUE(entry.ParseFromString(entries.at("_CHECKPOINTABLE_OBJECT_GRAPH")));
  EXPECT_EQ(entry.dtype(), tf::DT_STRING);
  EXPECT_EQ(entries.count("first/kernel/.ATTRIBUTES/VARIABLE_VALUE"), 1u);
  const std::string& data = (*files)[0];
  for (const char* name : {"layer_with_weights-0", "_operations", "_kernel", "model"}) {
    EXPECT_THAT(data.substr(entry.offset()), HasSubstr(name));
  }
  const auto read = ReadTensorBundle((*files)[1], {data});
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->weights.size(), 2);
  EXPECT_EQ(read->weights[1].name, "first/kernel");
}

TEST(TensorBundleTest, TwoWeightsOfOneNameAreNotWritten) {
  EXPECT_EQ(WriteTensorBundle({}, {Weights()[2], Weights()[2]}).status().message(),
            "two weights are named scalar");
}

}  // namespace
}  // namespace cairn::nn
