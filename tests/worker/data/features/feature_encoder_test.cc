#include "worker/data/features/feature_encoder.h"

#include <google/protobuf/util/json_util.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"

namespace cairn::worker {
namespace {

using ::testing::HasSubstr;
using Kind = FeatureValues::Kind;

FeatureValues Texts(std::vector<std::string_view> texts) {
  FeatureValues values;
  values.kind = Kind::kBytes;
  values.count = static_cast<int64_t>(texts.size());
  values.bytes = std::move(texts);
  return values;
}

FeatureValues Doubles(std::vector<double> numbers) {
  FeatureValues values;
  values.kind = Kind::kDoubles;
  values.count = static_cast<int64_t>(numbers.size());
  values.doubles = std::move(numbers);
  return values;
}

// Rows of the features of a model with one input. tests/worker/data/tfrecord has the other cases.
struct Encoding {
  // `fields` are those of the source beside the format.
  explicit Encoding(const std::string& features, const std::string& input,
                    const std::string& fields = "{}")
      : model(nn::testing::ModelOf({{"in", "InputLayer", input}, {"out", "Flatten", "{}"}})) {
    Create(features, fields);
  }
  Encoding(const std::string& features, std::unique_ptr<nn::Model> with_lookup)
      : model(std::move(with_lookup)) {
    Create(features);
  }

  void Create(const std::string& features, const std::string& fields = "{}") {
    proto::DataSource all;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(fields, &all).ok()) << fields;
    proto::ParquetSource source;
    EXPECT_TRUE(
        google::protobuf::util::JsonStringToMessage(R"({"features": [)" + features + "]}", &source)
            .ok());
    auto& planned = *plan.add_vocabularies();
    planned.set_column("planned");
    for (const char* const name : {"the", "cat", "dog"}) planned.add_names(name);
    encoder.emplace(source.features(), FeatureSpecs(), all, plan, *model, std::vector<LabelSpec>(),
                    FeatureEncoder::Words{.feature = "column", .missing = "is null"});
  }

  // The numbers of the row of an example, or the error.
  std::string Row(const std::vector<FeatureValues>& values) {
    FeatureEncoder::Collector rows(&*encoder, "f.parquet", &storage);
    const absl::Status status = rows.Add(values, nullptr);
    if (!status.ok()) return std::string(status.message());
    const auto file = rows.Finish();
    EXPECT_TRUE(file.ok() && file->examples == 1);
    const Array array = encoder->layouts().ArrayOf(0, file->rows[0], 1);
    std::vector<double> row(array.elements());
    std::string text;
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
  proto::DataPlan plan;
  std::optional<FeatureEncoder> encoder;
  DataStorage storage{{}};
};

TEST(FeatureEncoderTest, NamesBecomeIdsOrVectors) {
  Encoding ids(R"({"name": "planned", "categorical": true, "unknown": true, "defaultName": "dog"})",
               R"({"batch_shape": [null, 1]})");
  EXPECT_EQ(ids.Row({Texts({"cat"})}), "1.000 ");
  EXPECT_EQ(ids.Row({Texts({"bird"})}), "3.000 ");
  EXPECT_EQ(ids.Row({FeatureValues()}), "2.000 ");
  Encoding vectors(R"({"name": "x", "vocabulary": ["a", "b"], "unknown": true, "oneHot": true},
                      {"name": "y"})",
                   R"({"batch_shape": [null, 4]})");
  EXPECT_TRUE(vectors.encoder->CheckShapes().ok());
  EXPECT_EQ(vectors.Row({Texts({"b"}), Doubles({0.5})}), "0.000 1.000 0.000 0.500 ");
  EXPECT_EQ(vectors.Row({Texts({"z"}), Doubles({0.5})}), "0.000 0.000 1.000 0.500 ");
  Encoding lists(R"({"name": "x", "vocabulary": ["a", "b"], "oneHot": true, "shape": [2]})",
                 R"({"batch_shape": [null, 4]})");
  EXPECT_EQ(lists.Row({Texts({"b", "a"})}), "0.000 1.000 1.000 0.000 ");
}

TEST(FeatureEncoderTest, TextsBecomeTheIdsOfTheirTokens) {
  Encoding texts(R"({"name": "planned", "textVectorization": {}, "defaultName": "The dog!"})",
                 R"({"batch_shape": [null, 4]})");
  EXPECT_TRUE(texts.encoder->CheckShapes().ok());
  EXPECT_EQ(texts.Row({Texts({"The Dog, a cat"})}), "2.000 4.000 1.000 3.000 ");
  EXPECT_EQ(texts.Row({Texts({"cat"})}), "3.000 0.000 0.000 0.000 ");
  EXPECT_EQ(texts.Row({Texts({"cat cat cat cat dog"})}), "3.000 3.000 3.000 3.000 ");
  EXPECT_EQ(texts.Row({FeatureValues()}), "2.000 4.000 0.000 0.000 ");
  EXPECT_THAT(texts.Row({Texts({"a", "b"})}),
              HasSubstr("has 2 bytes values, \"text_vectorization\" takes one text"));
  Encoding other(R"({"name": "planned", "textVectorization": {"outputSequenceLength": 3}})",
                 R"({"batch_shape": [null, 4]})");
  EXPECT_THAT(std::string(other.encoder->CheckShapes().message()),
              HasSubstr("takes 4 values per example, the columns have 3: \"planned\""));
}

TEST(FeatureEncoderTest, AnInputOfTextTakesTheIdsOfItsLookup) {
  Encoding lookup(R"({"name": "x"})",
                  nn::testing::ModelOf(
                      {{"in", "InputLayer", R"({"batch_shape": [null, 1], "dtype": "string"})"},
                       {"lookup", "StringLookup", R"({"vocabulary": ["a", "b"]})"},
                       {"out", "Dense", R"({"units": 3})"}}));
  EXPECT_TRUE(lookup.encoder->wanted()[0].is_names);
  EXPECT_EQ(lookup.Row({Texts({"b"})}), "2.000 ");
  EXPECT_EQ(lookup.Row({Texts({"z"})}), "0.000 ");
}

TEST(FeatureEncoderTest, MessagesHaveTheWordsOfTheFormat) {
  Encoding one(R"({"name": "x"})", R"({"batch_shape": [null, 1]})");
  EXPECT_THAT(one.Row({FeatureValues()}), HasSubstr("column \"x\" is null; set \"default\" "));
  EXPECT_EQ(one.Row({Doubles({1e39})}),
            "column \"x\" has the value 1e+39, not a finite float32; set \"allow_nan\": true to "
            "train on it");
  EXPECT_EQ(one.Row({Doubles({0.25})}), "0.250 ");
}

TEST(FeatureEncoderTest, AColumnIsReadForEachUse) {
  Encoding both(R"({"name": "x"}, {"name": "x", "vocabulary": ["7", "8"]}, {"name": "x"})",
                R"({"batch_shape": [null, 3]})");
  ASSERT_EQ(both.encoder->wanted().size(), 2u);
  EXPECT_FALSE(both.encoder->wanted()[0].is_names);
  EXPECT_TRUE(both.encoder->wanted()[1].is_names);
  EXPECT_EQ(both.Row({Doubles({8}), Texts({"8"})}), "8.000 1.000 8.000 ");
}

TEST(FeatureEncoderTest, ListsAreFilledWithTheValueOfTheFirstStep) {
  const auto pad = [](const std::string& value, const std::string& scale) {
    return R"({"pipeline": [{"pad": {"length": "4", "value": )" + value + R"(}}], "scale": )" +
           scale + "}";
  };
  const std::string input = R"({"batch_shape": [null, 4]})";
  Encoding lists(R"({"name": "x"})", input, pad("-1", "1"));
  EXPECT_TRUE(lists.encoder->CheckShapes().ok());
  EXPECT_EQ(lists.Row({Doubles({2, 3})}), "2.000 3.000 -1.00 -1.00 ");
  // What is stored is scaled later, and 0 stays 0.
  Encoding zeros(R"({"name": "x"})", input, pad("0", "0.5"));
  EXPECT_TRUE(zeros.encoder->CheckShapes().ok());
  EXPECT_EQ(zeros.Row({Doubles({2, 3})}), "2.000 3.000 0.000 0.000 ");
  Encoding scaled(R"({"name": "x"})", input, pad("-1", "0.5"));
  EXPECT_EQ(std::string(scaled.encoder->CheckShapes().message()),
            "column \"x\" is filled before \"scale\" is applied; leave out the \"value\" of the "
            "step \"pad\", or \"scale\"");
  // Its own length comes first, and the pipeline fills the rest.
  Encoding own(R"({"name": "x", "maxLength": 2})", input, pad("-1", "0.5"));
  EXPECT_TRUE(own.encoder->CheckShapes().ok());
}

TEST(FeatureEncoderTest, TextsAreFilledWithZeros) {
  const auto pad = [](const std::string& value) {
    return R"({"pipeline": [{"pad": {"length": "3", "value": )" + value + "}}]}";
  };
  const std::string text = R"({"name": "planned", "textVectorization": {}})";
  Encoding zeros(text, R"({"batch_shape": [null, 3]})", pad("0"));
  EXPECT_TRUE(zeros.encoder->CheckShapes().ok());
  EXPECT_EQ(zeros.Row({Texts({"cat"})}), "3.000 0.000 0.000 ");
  Encoding ones(text, R"({"batch_shape": [null, 3]})", pad("1"));
  EXPECT_EQ(std::string(ones.encoder->CheckShapes().message()),
            "column \"planned\" is a text, whose end is filled with 0; leave out the \"value\" of "
            "the step \"pad\"");
}

TEST(FeatureEncoderTest, ImagesBeforeStepsThatChangeTheirSizeHaveAShape) {
  const std::string resize = R"({"pipeline": [{"resize": {"size": [2, 2]}}]})";
  const std::string input = R"({"batch_shape": [null, 2, 2, 3]})";
  Encoding open(R"({"name": "x", "decode": "image"})", input, resize);
  EXPECT_THAT(std::string(open.encoder->CheckShapes().message()),
              HasSubstr("; set \"shape\" to the size before the pipeline"));
  Encoding set(R"({"name": "x", "decode": "image", "shape": [4, 4, 3]})", input, resize);
  EXPECT_EQ(std::string(set.encoder->CheckShapes().message()), "");
}

}  // namespace
}  // namespace cairn::worker
