#include "worker/data/tfrecord/tfrecord_encoder.h"

#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"
#include "tests/worker/data/data_files.h"
#include "tests/worker/data/images/image_bytes.h"
#include "tests/worker/data/tfrecord/example_bytes.h"

namespace cairn::worker {
namespace {

using cairn::testing::BytesFeature;
using cairn::testing::ExampleBytes;
using cairn::testing::FloatsFeature;
using cairn::testing::IntsFeature;
using cairn::testing::PngBytes;
using cairn::testing::Raw;
using cairn::testing::RecordBytes;
using cairn::testing::WriteDataFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

proto::DataSource SourceOf(const std::string& json) {
  proto::DataSource source;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &source).ok()) << json;
  return source;
}

// A model with one input of this shape, and labels of whole numbers from 0 to 9.
struct Reading {
  explicit Reading(const std::string& features, const std::string& more = "",
                   const std::string& shape = "2", const std::string& type = "float32")
      : model(nn::testing::ModelOf(
            {{"in", "InputLayer",
              R"({"batch_shape": [null, )" + shape + R"(], "dtype": ")" + type + "\"}"},
             type == "int32" ? nn::testing::TestLayer{"out", "Embedding",
                                                      R"({"input_dim": 9, "output_dim": 1})"}
                             : nn::testing::TestLayer{"out", "Flatten", "{}"}})),
        encoder(SourceOf(R"({"tfrecord": {"features": [)" + features +
                         R"(], "labels": [{"name": "y"}]})" + more + "}"),
                {}, *model, {{.type = proto::INT32, .least = 0, .most = 9}}) {}

  absl::StatusOr<EncodedFile> Read(const std::vector<std::string>& examples) {
    std::string bytes;
    for (const std::string& example : examples) bytes += RecordBytes(example);
    return encoder.ReadFile(WriteDataFile("e.tfrecord", bytes), &storage);
  }

  // The features of the rows, or the error.
  std::string Values(const std::vector<std::string>& examples) {
    const auto file = Read(examples);
    if (!file.ok()) return std::string(file.status().message());
    return Values(encoder.layouts().ArrayOf(0, file->rows[0], file->examples));
  }

  std::string Values(const Array& array) {
    std::string text;
    std::vector<double> row(array.elements());
    EXPECT_TRUE(array
                    .ForEachRow([&](int64_t, const char* bytes) {
                      array.RowToDoubles(bytes, row.data());
                      for (const double value : row)
                        text += std::to_string(value).substr(0, 5) + " ";
                      return absl::OkStatus();
                    })
                    .ok());
    return text;
  }

  std::unique_ptr<nn::Model> model;
  TfrecordEncoder encoder;
  DataStorage storage{{}};
};

// An example with the label 1.
std::string With(const std::string& name, const std::string& feature) {
  return ExampleBytes({{name, feature}, {"y", IntsFeature({1})}});
}

TEST(TfrecordEncoderTest, ListsBecomeRows) {
  Reading reading(R"({"name": "x"})");
  EXPECT_TRUE(reading.encoder.CheckShapes().ok());
  EXPECT_EQ(reading.Values({With("x", FloatsFeature({1, 2})), With("x", IntsFeature({3, -4}))}),
            "1.000 2.000 3.000 -4.00 ");
  const auto file = reading.Read({With("x", FloatsFeature({1, 2}))});
  EXPECT_EQ(reading.Values(reading.encoder.layouts().ArrayOf(1, file->rows[1], 1)), "1.000 ");
  EXPECT_EQ(reading.encoder.layouts().ArrayOf(1, file->rows[1], 1).ToString(), "int32 (1,)");
}

TEST(TfrecordEncoderTest, RecordsThatTheConditionExcludesAreNotEncoded) {
  Reading reading(R"({"name": "x"})");
  const auto with = [&](const std::string& filter) -> std::string {
    const auto condition = std::make_shared<const RowCondition>(
        std::vector<job::RowFilter>{*job::ParseRowFilter(filter)});
    const TfrecordEncoder encoder(
        SourceOf(R"({"tfrecord": {"features": [{"name": "x"}], "labels": [{"name": "y"}]}})"), {},
        *reading.model, {{.type = proto::INT32, .least = 0, .most = 9}}, condition);
    std::string bytes;
    for (int i = 0; i < 3; ++i) {
      const auto whole = static_cast<int64_t>(i);
      // The second record has no x, which only matters if it is encoded.
      bytes +=
          RecordBytes(ExampleBytes({{i == 1 ? "w" : "x", FloatsFeature({static_cast<float>(i), 5})},
                                    {"y", IntsFeature({whole})},
                                    {"age", FloatsFeature({static_cast<float>(i) / 10})},
                                    {"kind", BytesFeature({i == 2 ? "b" : "a"})}}));
    }
    const auto file = encoder.ReadFile(WriteDataFile("c.tfrecord", bytes), &reading.storage);
    if (!file.ok()) return std::string(file.status().message());
    return reading.Values(encoder.layouts().ArrayOf(0, file->rows[0], file->examples));
  };
  EXPECT_EQ(with("y <> 1"), "0.000 5.000 2.000 5.000 ");
  EXPECT_EQ(with("age = 0.2"), "2.000 5.000 ");
  EXPECT_EQ(with("kind = 'a' and y <> 1 and other is null"), "0.000 5.000 ");
  EXPECT_THAT(with("x > 3"), HasSubstr("filter: feature \"x\" has 2 values; a filter compares "
                                       "features with one"));
}

TEST(TfrecordEncoderTest, FeaturesOfOneInputFollowEachOther) {
  Reading reading(R"({"name": "b"}, {"name": "a", "vocabulary": ["u", "v"], "unknown": true})");
  const auto example = [](const char* name) {
    return ExampleBytes(
        {{"a", BytesFeature({name})}, {"b", FloatsFeature({0.5})}, {"y", IntsFeature({1})}});
  };
  EXPECT_EQ(reading.Values({example("v"), example("w")}), "0.500 1.000 0.500 2.000 ");
}

TEST(TfrecordEncoderTest, ImagesAreDecodedAndResized) {
  Reading reading(R"({"name": "x", "decode": "image"})", "", "1, 2, 1");
  EXPECT_TRUE(reading.encoder.CheckShapes().ok());
  const std::string same = PngBytes(1, 2, 1, "\x03\xff");
  const std::string wide = PngBytes(1, 4, 1, std::string("\x00\x01\x02\x03", 4));
  EXPECT_EQ(reading.Values({With("x", BytesFeature({same})), With("x", BytesFeature({wide}))}),
            "3.000 255.0 0.500 2.500 ");
  EXPECT_THAT(reading.Values({With("x", BytesFeature({same.substr(0, 50)}))}),
              HasSubstr("feature \"x\" has an image: the PNG image is damaged: it is cut off"));
  EXPECT_THAT(reading.Values({With("x", BytesFeature({same, same}))}),
              HasSubstr("has 2 bytes values, \"decode\": \"image\" takes one of bytes"));
  EXPECT_THAT(reading.Values({With("x", IntsFeature({1}))}), HasSubstr("takes one of bytes"));
  Reading flat(R"({"name": "x", "decode": "image"})");
  EXPECT_THAT(std::string(flat.encoder.CheckShapes().message()),
              HasSubstr("feature \"x\" is an image, and its shape is (2,); images have"));
}

TEST(TfrecordEncoderTest, ListsOfAnyLengthArePaddedAndCut) {
  Reading reading(R"({"name": "x", "maxLength": 3, "padding": 7})", "", "3", "int32");
  EXPECT_EQ(reading.Values({With("x", IntsFeature({1})), With("x", IntsFeature({1, 2, 3, 4})),
                            With("z", IntsFeature({1}))}),
            "1.000 7.000 7.000 1.000 2.000 3.000 7.000 7.000 7.000 ");
}

TEST(TfrecordEncoderTest, ADefaultReplacesAMissingFeature) {
  Reading reading(R"({"name": "x", "default": 4})");
  EXPECT_EQ(reading.Values({With("z", IntsFeature({1}))}), "4.000 4.000 ");
}

TEST(TfrecordEncoderTest, RawTensorsKeepSmallTypes) {
  Reading bytes(R"({"name": "x", "decode": "raw", "dtype": "uint8"})");
  const auto file = bytes.Read({With("x", BytesFeature({"\x01\xff"}))});
  ASSERT_TRUE(file.ok()) << file.status();
  const Array array = bytes.encoder.layouts().ArrayOf(0, file->rows[0], 1);
  EXPECT_EQ(array.ToString(), "uint8 (1, 2)");
  EXPECT_EQ(bytes.Values(array), "1.000 255.0 ");
  Reading doubles(R"({"name": "x", "decode": "raw", "dtype": "float64"})");
  EXPECT_EQ(doubles.Values({With("x", BytesFeature({Raw<double>({0.25, -3})}))}), "0.250 -3.00 ");
  Reading filled(R"({"name": "x", "decode": "raw", "dtype": "uint8", "default": 9})");
  EXPECT_EQ(filled.Values({With("z", BytesFeature({"\x01\xff"}))}), "9.000 9.000 ");
}

TEST(TfrecordEncoderTest, TwoFeaturesMayTakeDifferentPartsOfOneList) {
  Reading reading(R"({"name": "x", "maxLength": 1}, {"name": "x", "maxLength": 3})", "", "4");
  EXPECT_EQ(reading.Values({With("x", IntsFeature({5, 6}))}), "5.000 5.000 6.000 0.000 ");
}

TEST(TfrecordEncoderTest, EveryMistakeNamesRecordFeatureAndValue) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const struct {
    std::string features;
    std::string example;
    std::string message;
    std::string more = "";
    std::string type = "float32";
  } cases[] = {
      {R"({"name": "x"})", "garbage", "it is not a tf.train.Example"},
      {R"({"name": "x"})", With("z", IntsFeature({1})),
       "feature \"x\" is missing; the record has \"z\", \"y\"; set \"default\""},
      {R"({"name": "x"})", With("x", FloatsFeature({1})),
       "feature \"x\" has 1 value, 2 expected: shape (2,)"},
      {R"({"name": "x"})", With("x", FloatsFeature({1, nan})), "value nan, not a finite float32"},
      {R"({"name": "x"})", With("x", FloatsFeature({1, 3e38f})),
       "value 3e+38, times 10, not a finite float32", R"(, "scale": 10)"},
      {R"({"name": "x"})", With("x", FloatsFeature({1, 0.5})),
       "value 0.5, not a whole number of 32 bits", "", "int32"},
      {R"({"name": "x"})", With("x", IntsFeature({1, 1ll << 31})),
       "value 2147483648, not a whole number of 32 bits; for larger ids set \"hash\"", "", "int32"},
      {R"({"name": "x"})", With("x", BytesFeature({"a", "b"})), "has bytes; set \"vocabulary\""},
      {R"({"name": "x", "dtype": "int64"})", With("x", FloatsFeature({1, 2})),
       "has float32 values, \"dtype\" says int64"},
      {R"({"name": "x", "vocabulary": ["a"]})", With("x", BytesFeature({"a", "b\n"})),
       "value \"b\\n\", which is not in its vocabulary; add it, or"},
      {R"({"name": "x", "vocabulary": ["a"]})", With("x", IntsFeature({1, 2})),
       "has int64 values, \"vocabulary\" is for bytes"},
      {R"({"name": "x", "decode": "raw", "dtype": "int16"})", With("x", BytesFeature({"abc"})),
       "has 3 bytes, 4 expected: int16 (2,)"},
      {R"({"name": "x", "decode": "raw", "dtype": "int16"})", With("x", IntsFeature({1})),
       "has 1 int64 values, \"decode\": \"raw\" takes one of bytes"},
      {R"({"name": "x"})", ExampleBytes({{"x", FloatsFeature({1, 2})}, {"y", IntsFeature({10})}}),
       "feature \"y\" has the value 10, labels from 0 to 9 expected"},
  };
  for (const auto& one : cases) {
    Reading reading(one.features, one.more, "2", one.type);
    const std::string error = reading.Values({one.example});
    EXPECT_THAT(error, HasSubstr("e.tfrecord, record 0 at byte 0: "));
    EXPECT_THAT(error, HasSubstr(one.message));
  }
}

TEST(TfrecordEncoderTest, DamagedRecordsAreSkippedAndCounted) {
  Reading reading(R"({"name": "x"})", R"(, "skipDamaged": 5)");
  const auto file =
      reading.Read({With("x", IntsFeature({1, 2})), "garbage",
                    ExampleBytes({{"x", IntsFeature({5, 6})}}), With("x", IntsFeature({3, 4}))});
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->examples, 2);
  EXPECT_EQ(file->damaged.count(), 2);
  EXPECT_THAT(file->damaged.places(), ::testing::ElementsAre(1, 2));
  EXPECT_THAT(file->damaged.first_error(), HasSubstr("record 1 at byte "));
  EXPECT_EQ(reading.Values(reading.encoder.layouts().ArrayOf(0, file->rows[0], 2)),
            "1.000 2.000 3.000 4.000 ");
}

TEST(TfrecordEncoderTest, ShapesMustFitTheModel) {
  EXPECT_THAT(
      std::string(Reading(R"({"name": "x", "shape": [3]})").encoder.CheckShapes().message()),
      HasSubstr("the model's input 'in' takes 2 values per example, the features have 3: "
                "\"x\"; set \"shape\" or \"max_length\""));
  EXPECT_TRUE(Reading(R"({"name": "x", "shape": [2]})").encoder.CheckShapes().ok());
}

}  // namespace
}  // namespace cairn::worker
