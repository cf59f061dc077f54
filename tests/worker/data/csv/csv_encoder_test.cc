#include "worker/data/csv/csv_encoder.h"

#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>

#include "common/status_macros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "job/job_objective.h"
#include "tests/nn/test_model.h"
#include "tests/worker/data/data_files.h"
#include "worker/data/encoded_rows.h"

namespace cairn::worker {
namespace {

using cairn::testing::WriteDataFile;
using ::testing::EndsWith;
using ::testing::HasSubstr;

template <typename Message>
Message MessageOf(const std::string& json) {
  Message message;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &message).ok()) << json;
  return message;
}

// `csv` is what stands under "csv"; `more` stands beside it.
proto::DataSource SourceOf(const std::string& csv, const std::string& more = "") {
  return MessageOf<proto::DataSource>(R"({"csv": )" + csv + more + "}");
}

// Labels of this type, of any value.
LabelSpec LabelOf(proto::DataType type) { return {.type = type}; }

// An id and a vector of `wide` numbers in.
std::unique_ptr<nn::Model> MixedModel(int wide) {
  return nn::testing::ModelOf(
      {{"id", "InputLayer", R"({"batch_shape": [null, 1], "dtype": "int32"})"},
       {"wide", "InputLayer", R"({"batch_shape": [null, )" + std::to_string(wide) + "]}"},
       {"table", "Embedding", R"({"input_dim": 5, "output_dim": 2})", {"id"}},
       {"deep", "Flatten", "{}", {"table"}},
       {"both", "Concatenate", "{}", {"deep", "wide"}},
       {"out", "Dense", R"({"units": 1})", {"both"}}});
}

std::vector<std::vector<double>> RowsOf(const Array& array) {
  std::vector<std::vector<double>> rows;
  EXPECT_TRUE(array
                  .ForEachRow([&](int64_t, const char* bytes) {
                    rows.emplace_back(array.elements());
                    array.RowToDoubles(bytes, rows.back().data());
                    return absl::OkStatus();
                  })
                  .ok());
  return rows;
}

using Rows = std::vector<std::vector<double>>;

// The rows of a file as arrays.
absl::StatusOr<SourceArrays> Read(const CsvEncoder& encoder, const std::string& path,
                                  int threads = 1) {
  DataStorage storage({});
  CAIRN_ASSIGN_OR_RETURN(const CsvEncoder::File file, encoder.ReadFile(path, threads, &storage));
  SourceArrays arrays = ArraysOf(encoder.layouts());
  CAIRN_RETURN_IF_ERROR(AddRows(encoder.layouts(), file.rows, &arrays));
  return arrays;
}

constexpr char kMixed[] = R"({
  "features": [{"name": "user", "vocabulary": ["ann", "bob"], "unknown": true, "input": "id"},
               {"name": "age", "missing": {"name": "mean"}, "input": "wide"},
               {"name": "city", "categorical": true, "one_hot": true, "input": "wide"}],
  "labels": [{"name": "y"}]})";
constexpr char kPlan[] = R"({
  "vocabularies": [{"column": "city", "names": ["QmVybg==", "Um9t"]}],
  "fills": [{"column": "age", "value": 15}]})";  // "Bern" and "Rom" in base64.

TEST(CsvEncoderTest, ColumnsBecomeTheirInputsRows) {
  const auto model = MixedModel(3);
  const CsvEncoder encoder(SourceOf(kMixed), MessageOf<proto::DataPlan>(kPlan), *model,
                           {LabelOf(proto::FLOAT32)});
  const auto arrays =
      Read(encoder, WriteDataFile("m.csv", "y,city,age,user\n0.5,Rom,7,bob\n1,Bern,,eve\n"));
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->inputs[0].ToString(), "int32 (2, 1)");
  EXPECT_EQ(RowsOf(arrays->inputs[0]), (Rows{{1}, {2}}));
  EXPECT_EQ(arrays->inputs[1].ToString(), "float32 (2, 3)");
  EXPECT_EQ(RowsOf(arrays->inputs[1]), (Rows{{7, 0, 1}, {15, 1, 0}}));
  EXPECT_EQ(arrays->labels[0].ToString(), "float32 (2,)");
  EXPECT_EQ(RowsOf(arrays->labels[0]), (Rows{{0.5}, {1}}));
}

TEST(CsvEncoderTest, TextsBecomeTheIndicesOfTheirLayer) {
  const auto model = [](const std::string& indices) {
    return nn::testing::ModelOf(
        {{"city", "InputLayer", R"({"batch_shape": [null, 2], "dtype": "string"})"},
         {"lookup", "StringLookup", R"({"vocabulary": ["Rom", "", "7"], )" + indices + "}"},
         {"out", "Dense", R"({"units": 1})"}});
  };
  const auto source = SourceOf(R"({"features": [{"name": "to"}, {"name": "from"}],
                                   "labels": [{"name": "y"}]})");
  const std::string path = WriteDataFile("t.csv", "y,from,to\n0,Rom,\n1,7,Bern\n");
  const auto takes_all = model(R"("output_mode": "int")");
  const auto arrays = Read(CsvEncoder(source, {}, *takes_all, {LabelOf(proto::FLOAT32)}), path);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->inputs[0].ToString(), "int32 (2, 2)");
  EXPECT_EQ(RowsOf(arrays->inputs[0]), (Rows{{2, 1}, {0, 3}}));
  const auto takes_terms = model(R"("num_oov_indices": 0)");
  const auto refused = Read(CsvEncoder(source, {}, *takes_terms, {LabelOf(proto::FLOAT32)}), path);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("Bern"));
}

TEST(CsvEncoderTest, LabelsGoToTheirOutputs) {
  const auto model = nn::testing::ModelOf({{"x", "InputLayer", R"({"batch_shape": [null, 1]})"},
                                           {"kind", "Dense", R"({"units": 2})", {"x"}},
                                           {"size", "Dense", R"({"units": 2})", {"x"}}},
                                          {"kind", "size"});
  const CsvEncoder encoder(SourceOf(R"({
        "features": [{"name": "x"}],
        "labels": [{"name": "w", "output": "size"},
                   {"name": "k", "vocabulary": ["cat", "dog"], "output": "kind"},
                   {"name": "h", "output": "size"}]})"),
                           {}, *model, {LabelOf(proto::INT32), LabelOf(proto::FLOAT32)});
  const auto arrays = Read(encoder, WriteDataFile("o.csv", "x,k,w,h\n1,dog,2,3\n4,cat,5,6\n"));
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  ASSERT_EQ(arrays->labels.size(), 2u);
  EXPECT_EQ(arrays->labels[0].ToString(), "int32 (2,)");
  EXPECT_EQ(RowsOf(arrays->labels[0]), (Rows{{1}, {0}}));
  EXPECT_EQ(RowsOf(arrays->labels[1]), (Rows{{2, 3}, {5, 6}}));
}

TEST(CsvEncoderTest, AsManyColumnsAsAnImageHasPixelsHaveItsShape) {
  const auto model =
      nn::testing::ModelOf({{"image", "InputLayer", R"({"batch_shape": [null, 2, 2, 1]})"},
                            {"flat", "Flatten", "{}"},
                            {"out", "Dense", R"({"units": 1})"}});
  const CsvEncoder encoder(SourceOf(R"({
    "features": [{"name": "0"}, {"name": "1"}, {"name": "2"}, {"name": "3"}],
    "labels": [{"name": "4"}], "header": false})"),
                           {}, *model, {LabelOf(proto::INT32)});
  const auto arrays = Read(encoder, WriteDataFile("i.csv", "1,2,3,4,9\n"));
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->inputs[0].row_shape(), (nn::Shape{2, 2, 1}));
  EXPECT_EQ(RowsOf(arrays->inputs[0]), (Rows{{1, 2, 3, 4}}));
  EXPECT_EQ(arrays->labels[0].ToString(), "int32 (1,)");
}

TEST(CsvEncoderTest, SeveralThreadsMakeTheSameRows) {
  std::string text = "y,city,age,user\n";
  Rows expected;
  while (text.size() < (size_t{3} << 20)) {
    const auto row = static_cast<double>(expected.size());
    text += "0,Rom," + std::to_string(expected.size()) + ".5,bob\n";
    expected.push_back({row + 0.5, 0, 1});
  }
  const std::string path = WriteDataFile("large.csv", text);
  const auto model = MixedModel(3);
  const CsvEncoder encoder(SourceOf(kMixed), MessageOf<proto::DataPlan>(kPlan), *model,
                           {LabelOf(proto::FLOAT32)});
  for (const int threads : {1, 3}) {
    const auto arrays = Read(encoder, path, threads);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_EQ(arrays->labels[0].rows(), static_cast<int64_t>(expected.size()));
    EXPECT_TRUE(RowsOf(arrays->inputs[1]) == expected) << threads;
  }
}

// The text is 18 KB, its numbers are 12 MB.
TEST(CsvEncoderTest, WideRowsAreMadeOfSmallBlocks) {
  constexpr int kNames = 1000;
  constexpr int kRows = 3000;
  auto source =
      SourceOf(R"({"features": [{"name": "x", "one_hot": true}], "labels": [{"name": "y"}]})");
  for (int i = 0; i < kNames; ++i) {
    source.mutable_csv()->mutable_features(0)->add_vocabulary(std::to_string(i));
  }
  const auto model = nn::testing::ModelOf({{"in", "InputLayer", R"({"batch_shape": [null, 1000]})"},
                                           {"out", "Dense", R"({"units": 1})"}});
  const CsvEncoder encoder(source, {}, *model, {LabelOf(proto::FLOAT32)});
  EXPECT_LE(encoder.block_bytes() / 2 * (kNames + 1) * 4, size_t{4} << 20);
  std::string text = "x,y\n";
  for (int i = 0; i < kRows; ++i) text += std::to_string(i % kNames) + ",1\n";
  EXPECT_GT(text.size(), 5 * encoder.block_bytes());
  const std::string path = WriteDataFile("wide.csv", text);
  for (const int threads : {1, 3}) {
    const auto arrays = Read(encoder, path, threads);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    const Rows rows = RowsOf(arrays->inputs[0]);
    ASSERT_EQ(rows.size(), static_cast<size_t>(kRows));
    for (int i = 0; i < kRows; ++i) {
      std::vector<double> expected(kNames);
      expected[i % kNames] = 1;
      ASSERT_EQ(rows[i], expected) << "row " << i;
    }
  }
}

TEST(CsvEncoderTest, NarrowRowsAreMadeOfLargeBlocks) {
  const auto model = nn::testing::ModelOf(
      {{"in", "InputLayer", R"({"batch_shape": [null, 1]})"}, {"out", "Dense", R"({"units": 1})"}});
  const CsvEncoder encoder(SourceOf(R"({"features": [{"name": "x"}], "labels": [{"name": "y"}]})"),
                           {}, *model, {LabelOf(proto::FLOAT32)});
  EXPECT_EQ(encoder.block_bytes(), size_t{1} << 20);
}

// Also those that look like numbers.
TEST(CsvEncoderTest, TextsThatStandForMissingValuesAreNoNumbers) {
  proto::DataSource source = SourceOf(kMixed);
  for (const char* text : {"-999", "NA"}) source.mutable_csv()->add_missing(text);
  const auto model = MixedModel(3);
  const CsvEncoder encoder(source, MessageOf<proto::DataPlan>(kPlan), *model,
                           {LabelOf(proto::FLOAT32)});
  const auto arrays = Read(
      encoder,
      WriteDataFile("na.csv", "y,city,age,user\n1,Rom,-999,bob\n1,Rom,NA,bob\n1,Rom,-99,bob\n"));
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(RowsOf(arrays->inputs[1]), (Rows{{15, 0, 1}, {15, 0, 1}, {-99, 0, 1}}));
}

// What is said of the file, behind its name.
std::string ErrorOf(const CsvEncoder& encoder, const std::string& text, int threads = 1) {
  const std::string path = WriteDataFile("bad.csv", text);
  const auto arrays = Read(encoder, path, threads);
  EXPECT_EQ(arrays.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(arrays.status().message());
  const std::string name = "data file " + path + ": ";
  EXPECT_EQ(message.substr(0, name.size()), name);
  return message.substr(name.size());
}

TEST(CsvEncoderTest, EveryBadFieldIsNamedWithLineColumnValueAndFix) {
  const auto model = MixedModel(3);
  const CsvEncoder encoder(SourceOf(kMixed), MessageOf<proto::DataPlan>(kPlan), *model,
                           {LabelOf(proto::FLOAT32)});
  const std::pair<std::string, std::string> cases[] = {
      {"1,Rom,x,ann",
       R"(column "age": "x" is not a number; if the column holds names, set "categorical": true)"},
      {"1,Rom,1e39,ann", R"(column "age": "1e39" is too large for a float32)"},
      {"1,Rom,-inf,ann",
       R"(column "age": "-inf" is not a finite float32; list it in "missing", or set )"
       R"("allow_nan": true to train on it)"},
      {"1,Rom,\"3,14\",ann",
       R"(column "age": "3,14" looks like a number with a decimal comma; numbers have a decimal )"
       R"(point: write 3.14)"},
      {",Rom,1,ann", R"(column "y": "" is a missing value; leave the line out, or set )"
                     R"("missing": {"value": 0})"},
      {"No,Rom,1,ann",
       R"(column "y": "No" is not a number; if labels are names, list them in "vocabulary")"},
      {"1,Paris,1,ann",
       R"(column "city": "Paris" is none of the names in the training data ("Bern", "Rom"); list )"
       R"(all names in "vocabulary", or set "unknown": true)"},
      {"1,rom ,1,ann",
       R"(column "city": "rom " is none of the names in the training data ("Bern", "Rom"), it is )"
       R"("Rom" but for letter case and blanks around it; list all names in "vocabulary", or set )"
       R"("unknown": true)"},
      {"1,Rom,1,", R"(column "user": "" is a missing value; set "missing": "NAME")"},
  };
  for (const auto& [row, message] : cases) {
    EXPECT_EQ(ErrorOf(encoder, "y,city,age,user\n1,Rom,1,ann\n" + row + "\n"),
              "line 3, " + message);
  }
}

// Lines are the file's: the header's is the first, empty ones and those inside of quotes count.
TEST(CsvEncoderTest, OneMessageHasAllThatIsWrong) {
  const auto model = MixedModel(3);
  const CsvEncoder encoder(SourceOf(kMixed), MessageOf<proto::DataPlan>(kPlan), *model,
                           {LabelOf(proto::FLOAT32)});
  const std::string text =
      "y,city,age,user\n"
      "\n"
      "1,\"Pa\nris\",x,ann\n"
      "2,Rom,1\n"
      ",Rom,z,ann\n"
      "3,Rom,5,ann\n";
  EXPECT_EQ(
      ErrorOf(encoder, text),
      R"(4 problems: (1) column "age": 2 values are not numbers: "x" (line 3), "z" (line 6); )"
      R"(if the column holds names, set "categorical": true; (2) line 3, column "city": "Pa\nris" is none of )"
      R"(the names in the training data ("Bern", "Rom"); list all names in "vocabulary", or )"
      R"(set "unknown": true; (3) line 5: 3 fields where the first line has 4; is the )"
      R"(delimiter another, or a quote missing?; (4) line 6, column "y": "" is a missing )"
      R"(value; leave the line out, or set "missing": {"value": 0})");
}

// Of a classifier of two labels, "No" and "Yes" if the job lists them.
struct TwoLabels {
  explicit TwoLabels(const std::string& label, const proto::DataPlan& plan = {},
                     const std::string& more = "")
      : model(nn::testing::ModelOf({{"in", "InputLayer", R"({"batch_shape": [null, 1]})"},
                                    {"out", "Dense", R"({"units": 2})"}})),
        source(SourceOf(R"({"features": [{"name": "x"}], "labels": [)" + label + "]}", more)) {
    proto::Job job;
    job.mutable_loss()->set_name("sparse_categorical_crossentropy");
    objective = *job::CreateObjective(job, *model);
    encoder =
        std::make_unique<CsvEncoder>(source, plan, *model, LabelSpecs(source, *model, objective));
  }

  std::unique_ptr<nn::Model> model;
  proto::DataSource source;
  nn::Objective objective;
  std::unique_ptr<CsvEncoder> encoder;
};

constexpr char kListed[] = R"({"name": "y", "vocabulary": ["No", "Yes"]})";

TEST(CsvEncoderTest, UnknownLabelsAreListedBesideTheKnownOnes) {
  const TwoLabels two(kListed);
  EXPECT_EQ(ErrorOf(*two.encoder, "x,y\n1,No\n2,yes\n3,yes\n4,maybe\n"),
            R"(column "y": 3 values are none of the labels in "vocabulary" ("No", "Yes"): "yes" )"
            R"((2 times, first on line 3; it is "Yes" but for letter case), "maybe" (line 5); )"
            "write labels as it does, or add them to it as classes of their own");
  EXPECT_EQ(ErrorOf(*two.encoder, "x,y\n1, Yes\n"),
            R"(line 2, column "y": " Yes" is none of the labels in "vocabulary" ("No", "Yes"), )"
            R"(it is "Yes" but for blanks around it; write labels as it does, or add them to )"
            "it as classes of their own");
}

// A job of an earlier version may still say it.
TEST(CsvEncoderTest, ALabelIsNeverOneOfAllUnknownOnes) {
  const TwoLabels two(R"({"name": "y", "vocabulary": ["No", "Yes"], "unknown": true})");
  EXPECT_THAT(ErrorOf(*two.encoder, "x,y\n1,yes\n"), HasSubstr("is none of the labels"));
}

TEST(CsvEncoderTest, LabelsBeyondTheModelsClassesAreNamed) {
  const auto plan = MessageOf<proto::DataPlan>(
      R"({"vocabularies": [{"column": "y", "names": ["Tm8=", "WWVz", "eWVz"]}]})");  // No, Yes, yes
  const TwoLabels two(R"({"name": "y", "categorical": true})", plan);
  EXPECT_EQ(ErrorOf(*two.encoder, "x,y\n1,No\n2,yes\n3,yes\n"),
            R"(column "y": 2 values exceed the model's classes: the column has 3 labels ("No", )"
            R"("Yes", "yes"), )"
            "the model 2 classes (loss sparse_categorical_crossentropy, model output 'out' (2,)): "
            R"("yes" (2 times, first on line 3; it is "Yes" but for letter case); correct the )"
            "file, or give the model as many classes");
  const TwoLabels numbers(R"({"name": "y"})");
  EXPECT_EQ(ErrorOf(*numbers.encoder, "x,y\n1,0\n2,2\n3,-1\n"),
            R"(column "y": 2 values are not labels from 0 to 1 (loss )"
            "sparse_categorical_crossentropy, model output 'out' (2,)): "
            R"("2" (line 3), "-1" (line 4); classes are counted from 0)");
}

TEST(CsvEncoderTest, NumbersThatScaleMakesTooLargeAreRefusedUnlessAllowed) {
  const std::string text = "x,y\n1,0\n1e10,1\n";
  const TwoLabels scaled(R"({"name": "y"})", {}, R"(, "scale": 1e30)");
  EXPECT_EQ(ErrorOf(*scaled.encoder, text),
            R"(line 3, column "x": "1e10" times 1e+30 is not a finite float32; list it in )"
            R"("missing", or set "allow_nan": true to train on it)");
  const TwoLabels allowed(R"({"name": "y"})", {}, R"(, "scale": 1e30, "allowNan": true)");
  const auto arrays = Read(*allowed.encoder, WriteDataFile("s.csv", text + "nan,0\n"));
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_TRUE(std::isnan(RowsOf(arrays->inputs[0])[2][0]));
}

TEST(CsvEncoderTest, SeveralThreadsFindTheSameProblems) {
  const TwoLabels two(kListed);
  std::string text = "x,y\n";
  for (int i = 0; text.size() < (size_t{3} << 20); ++i) {
    text += (i % 1000 == 7 ? "a" + std::to_string(i % 3) : std::to_string(i)) +
            (i % 500 == 3    ? ",yes\n"
             : i % 9999 == 5 ? "\n"
                             : ",No\n");
  }
  const std::string one = ErrorOf(*two.encoder, text, 1);
  EXPECT_THAT(one, ::testing::StartsWith("3 problems: (1) column \"y\": "));
  EXPECT_EQ(ErrorOf(*two.encoder, text, 3), one);
}

TEST(CsvEncoderTest, ColumnsThatAreNotAsManyAsTheModelTakesAreNamed) {
  const auto model = nn::testing::ModelOf(
      {{"in", "InputLayer", R"({"batch_shape": [null, 8]})"}, {"out", "Dense", R"({"units": 2})"}});
  const proto::DataSource source = SourceOf(R"({
    "features": [{"name": "age"},
                 {"name": "city", "vocabulary": ["a", "b"], "oneHot": true, "unknown": true}],
    "labels": [{"name": "y"}, {"name": "z"}]})");
  proto::Job job;
  job.mutable_loss()->set_name("sparse_categorical_crossentropy");
  const auto objective = job::CreateObjective(job, *model);
  const CsvEncoder encoder(source, {}, *model, LabelSpecs(source, *model, *objective));
  EXPECT_THAT(encoder.InputProblems(),
              ::testing::ElementsAre("the model's input 'in' takes 8 values per example, the data "
                                     "give 4: columns \"age\", \"city\" (one_hot, 3 values)"));
  EXPECT_THAT(encoder.LabelProblems(),
              ::testing::ElementsAre(
                  "label columns \"y\", \"z\": loss sparse_categorical_crossentropy: labels of "
                  "shape (2,) per example do not fit the model's output (2,), which wants one "
                  "number"));
  const TwoLabels fit(kListed);
  EXPECT_TRUE(fit.encoder->InputProblems().empty());
  EXPECT_TRUE(fit.encoder->LabelProblems().empty());
}

TEST(CsvEncoderTest, ColumnsThatAFileLacksAreSaidBesideTheRest) {
  const auto model = MixedModel(3);
  const CsvEncoder encoder(SourceOf(kMixed), MessageOf<proto::DataPlan>(kPlan), *model,
                           {LabelOf(proto::FLOAT32)});
  EXPECT_EQ(ErrorOf(encoder, "y,City,age\n1,Rom,x\n"),
            R"(2 problems: (1) it has no columns "user", "city" (did you mean City?); it has "y", )"
            R"("City", "age"; (2) line 2, column "age": "x" is not a number; if the column )"
            R"(holds names, set "categorical": true)");
}

TEST(CsvEncoderTest, IdsOfMoreThan32BitsCanBeHashed) {
  const auto model = MixedModel(1);
  const CsvEncoder encoder(
      SourceOf(R"({"features": [{"name": "id", "input": "id"}, {"name": "x", "input": "wide"}],
                   "labels": [{"name": "y"}]})"),
      {}, *model, {LabelOf(proto::FLOAT32)});
  EXPECT_EQ(
      ErrorOf(encoder, "id,x,y\n2147483648,1,0\n"),
      "line 2, column \"id\": \"2147483648\" is not a whole number of 32 bits; for larger ids "
      "set \"hash\" in the description of the column");
  EXPECT_EQ(ErrorOf(encoder, "id,x,y\n1.5,1,0\n"),
            "line 2, column \"id\": \"1.5\" is not a whole number of 32 bits");
}

TEST(CsvEncoderTest, WholeNumbersMustBeSo) {
  const auto model = nn::testing::ModelOf(
      {{"in", "InputLayer", R"({"batch_shape": [null, 1]})"}, {"out", "Dense", R"({"units": 2})"}});
  const CsvEncoder encoder(SourceOf(R"({"features": [{"name": "x"}], "labels": [{"name": "y"}]})"),
                           {}, *model, {LabelOf(proto::INT32)});
  for (const char* label : {"1.5", "3e9", "nan"}) {
    const auto arrays =
        Read(encoder, WriteDataFile("w.csv", "x,y\n1," + std::string(label) + "\n"));
    EXPECT_THAT(std::string(arrays.status().message()),
                EndsWith("line 2, column \"y\": \"" + std::string(label) +
                         "\" is not a whole number of 32 bits"));
  }
  const auto good = Read(encoder, WriteDataFile("w.csv", "x,y\n1,1.0\n"));
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(RowsOf(good->labels[0]), (Rows{{1}}));
}

}  // namespace
}  // namespace cairn::worker
