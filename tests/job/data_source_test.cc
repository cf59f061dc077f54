#include "job/data_source.h"

#include <google/protobuf/util/json_util.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "tests/nn/test_model.h"

namespace cairn::job {
namespace {

proto::Job JobOf(const std::string& json) {
  proto::Job job;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &job).ok()) << json;
  return job;
}

constexpr char kNpy[] = R"("train": {"npy": {"features": ["x"], "labels": ["y"]}})";

struct Case {
  std::string job;
  std::string message;
};

// Only losses of several models may do without labels.
TEST(DataSourceTest, LabelsAreNamedIfALossUsesThem) {
  const std::vector<Case> cases = {
      {R"("npy": {"features": ["x"]})",
       R"(train.npy.labels: is missing; for example "labels": "y.npy")"},
      {R"("npz": {"files": ["x"], "features": ["x"]})",
       R"(train.npz.labels: is missing; name an array of the file, for example "y_train")"},
      {R"("csv": {"files": ["x"], "features": [{"name": "x"}]})",
       "train.csv.labels: is missing; name the column of the labels"},
      {R"("tfrecord": {"files": ["x"], "features": [{"name": "x"}]})",
       "train.tfrecord.labels: is missing; name the feature of the labels"},
  };
  const auto model = nn::testing::ModelOf(
      {{"in", "InputLayer", R"({"batch_shape": [null, 1]})"}, {"out", "Dense", R"({"units": 1})"}});
  for (const Case& one : cases) {
    const std::string train = R"("train": {)" + one.job + "}";
    EXPECT_EQ(CheckJobData(JobOf("{" + train + "}")).message(), one.message);
    const auto adversarial = [&train](const std::string& target) {
      return JobOf(R"({"models": {"d": "d.json"}, "objectives": [{"trains": ["d"], "losses": [)"
                   R"-({"of": "d(data)", )-" +
                   target + R"(, "loss": {"name": "mse"}}]}], )" + train + "}");
    };
    EXPECT_EQ(CheckJobData(adversarial(R"("target": 1)")).message(), "");
    EXPECT_EQ(CheckDataFitsModel(adversarial(R"("target": 1)"), *model).message(), "");
    EXPECT_EQ(CheckJobData(adversarial(R"("targetArray": "labels")")).message(), one.message);
  }
}

TEST(DataSourceTest, WrongChoicesOfRowsAreNamed) {
  const std::string npy = kNpy;
  const std::vector<Case> cases = {
      {R"({"train": {"npy": {"features": ["x"], "labels": ["y"]}, "rows": [5]}})",
       "train.rows: has 1 number; say the first row and the one after the last: [0, 50000]"},
      {R"({"train": {"npy": {"features": ["x"], "labels": ["y"]}, "rows": [0, 5, 9]}})",
       "train.rows: has 3 numbers; say the first row and the one after the last: [0, 50000]"},
      {R"({"train": {"npy": {"features": ["x"], "labels": ["y"]}, "rows": [-1, 5]}})",
       "train.rows: [-1, 5] are no rows; the first is 0 or more, and the end is above it"},
      {R"({"train": {"npy": {"features": ["x"], "labels": ["y"]}, "rows": [5, 5]}})",
       "train.rows: [5, 5] are no rows; the first is 0 or more, and the end is above it"},
      {R"({"train": {"csv": {"files": ["x"]}, "skip_damaged": 1, "rows": [0, 5]}})",
       R"(train.rows: conflicts with "skip_damaged", which changes the numbers of the rows; keep )"
       "one of them"},
      {"{" + npy +
           R"(, "validation": {"npy": {"features": ["x"], "labels": ["y"]}, )"
           R"("drop_remainder": true}})",
       R"(validation.drop_remainder: an evaluation counts each example; set it in "train", or )"
       R"(choose examples by "rows")"},
  };
  std::set<std::string> messages;
  for (const Case& one : cases) {
    const absl::Status status = CheckJobData(JobOf(one.job));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), one.message);
    EXPECT_TRUE(messages.insert(one.message).second);
  }
  EXPECT_TRUE(CheckJobData(JobOf("{" + npy + R"(, "validation_fraction": 0.25,
      "validation_choice": "random", "shuffle_block": 64})"))
                  .ok());
}

TEST(DataSourceTest, MistakesInMixturesAreNamed) {
  const std::string npy = R"({"npy": {"features": ["x"], "labels": ["y"]})";
  const auto mix = [&npy](const std::string& second, const std::string& beside = "") {
    return R"({"train": {"mix": [{"source": )" + npy + R"(}, "weight": 1}, )" + second + "]" +
           beside + "}}";
  };
  const std::string good = R"({"source": )" + npy + R"(}, "weight": 2.5})";
  EXPECT_EQ(
      CheckJobData(JobOf(mix(good, R"(, "one_hot": true, "drop_remainder": true)"))).message(), "");
  const std::vector<Case> cases = {
      {mix(good, R"(, "npy": {"features": ["x"], "labels": ["y"]})"),
       R"(train.npy: stands beside "mix"; set it in the sources of the mixture)"},
      {mix(good, R"(, "standardize": true)"),
       R"(train.standardize: is not for a mixture; use "scale" in its sources, or a layer of the )"
       "model"},
      {mix(good, R"(, "scale": 2)"),
       R"(train.scale: stands beside "mix"; set it in the sources of the mixture)"},
      {mix(R"({"weight": 2})"),
       R"(train.mix[1].source: is missing; for example {"npy": {"features": "x.npy", "labels": )"
       R"("y.npy"}})"},
      {mix(R"({"source": )" + npy + "}}"),
       "train.mix[1].weight: all sources have weights, or none"},
      {mix(R"({"source": )" + npy + R"(}, "weight": 0})"),
       "train.mix[1].weight: 0 is not a finite number above 0"},
      {mix(R"({"source": )" + npy + R"(}, "weight": "Infinity"})"),
       "train.mix[1].weight: inf is not a finite number above 0"},
      {mix(R"({"source": {"mix": [)" + good + R"(]}, "weight": 1})"),
       "train.mix[1].source.mix: is not for a source of a mixture; list all sources in one"},
      {mix(R"({"source": )" + npy + R"(, "one_hot": true}, "weight": 1})"),
       R"(train.mix[1].source.one_hot: is not for a source of a mixture; set it beside "mix")"},
      {mix(R"({"source": )" + npy + R"(, "oneHotOutputs": ["a"]}, "weight": 1})"),
       R"(train.mix[1].source.one_hot: is not for a source of a mixture; set it beside "mix")"},
      {mix(R"({"source": )" + npy + R"(, "standardize": true}, "weight": 1})"),
       R"(train.mix[1].source.standardize: is not for a source of a mixture; use "scale", or a )"
       "layer of the model"},
      {mix(R"({"source": )" + npy + R"(, "rows": [5, 5]}, "weight": 1})"),
       "train.mix[1].source.rows: [5, 5] are no rows; the first is 0 or more, and the end is above "
       "it"},
      {R"({"validation_fraction": 0.5, "train": {"mix": [)" + good + "]}}",
       R"(validation_fraction: is not for a mixture; describe the data by "validation")"},
  };
  for (const Case& one : cases) EXPECT_EQ(CheckJobData(JobOf(one.job)).message(), one.message);
  proto::Job job = JobOf(mix(good));
  while (job.train().mix_size() < 100) *job.mutable_train()->add_mix() = job.train().mix(0);
  EXPECT_TRUE(CheckJobData(job).ok());
  *job.mutable_train()->add_mix() = job.train().mix(0);
  EXPECT_EQ(CheckJobData(job).message(), "train.mix: has 101 sources, at most 100");
}

TEST(DataSourceTest, ASourceOfAMixtureDescribesOtherFiles) {
  proto::Job job = JobOf(R"({"train": {"one_hot": true, "mix": [
      {"source": {"csv": {"files": ["a"], "labels": [{"name": "y"}]}}},
      {"source": {"npy": {"features": ["x"], "labels": ["y"]}}}]},
      "validation": {"csv": {"files": ["b"]}}})");
  EXPECT_EQ(SourcesOf(job.train()).size(), 2u);
  EXPECT_TRUE(SourcesOf(job.train())[1].one_hot());
  EXPECT_TRUE(TemplateOf(job.train()).has_csv());
  const proto::DataSource validation = ValidationSource(job);
  EXPECT_EQ(validation.csv().labels(0).name(), "y");
  EXPECT_TRUE(validation.one_hot());
  std::vector<std::string> paths;
  for (const DataFile& file : FilesOf("train", job.mutable_train())) paths.push_back(file.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"train.mix[0].source.csv.files[0]",
                                             "train.mix[1].source.npy.features[0]",
                                             "train.mix[1].source.npy.labels[0]"}));
}

// Input a and the labels are in an .npy file each, b is in a .csv file.
std::string ZipOf(const std::string& third, const std::string& beside = "") {
  return R"({"train": {"zip": [
      {"source": {"npy": {"features": ["a.npy"]}}, "inputs": ["a"]},
      {"source": {"npy": {"labels": ["y.npy"]}, "one_hot": true}, "outputs": ["y"]}, )" +
         third + "]" + beside + "}}";
}

constexpr char kCsvOfB[] =
    R"({"source": {"csv": {"files": ["b.csv"], "features": [{"name": "u"}]}}, "inputs": ["b"]})";

TEST(DataSourceTest, MistakesInZipsAreNamed) {
  EXPECT_EQ(CheckJobData(JobOf(ZipOf(kCsvOfB, R"(, "drop_remainder": true)"))).message(), "");
  const std::string npy = R"({"npy": {"features": ["x"]})";
  const std::vector<Case> cases = {
      {ZipOf(kCsvOfB, R"(, "scale": 2)"),
       R"(train.scale: stands beside "zip"; set it in the sources of the zip)"},
      {ZipOf(R"({"inputs": ["b"]})"),
       R"(train.zip[2].source: is missing; for example {"npy": {"features": "x.npy"}})"},
      {ZipOf(R"({"source": )" + npy + "}}"),
       R"(train.zip[2]: has no "inputs" and no "outputs"; name those of the model whose values )"
       "the source has"},
      {ZipOf(R"({"source": )" + npy + R"(}, "inputs": ["a"]})"),
       R"(train.zip[2].inputs: "a" appears twice; one source has its values)"},
      {ZipOf(R"({"source": {"npy": {"labels": ["y"]}}, "outputs": ["y"]})"),
       R"(train.zip[2].outputs: "y" appears twice; one source has its labels)"},
      {ZipOf(R"({"source": {"zip": [)" + std::string(kCsvOfB) + R"(]}, "inputs": ["b"]})"),
       "train.zip[2].source.zip: is not for a source of a zip"},
      {ZipOf(R"({"source": )" + npy + R"(, "drop_remainder": true}, "inputs": ["b"]})"),
       R"(train.zip[2].source.drop_remainder: is not for a source of a zip; set it beside "zip")"},
      {ZipOf(R"({"source": {"images": {"directory": ["d"]}}, "outputs": ["z"]})"),
       "train.zip[2].inputs: is missing; images has values of an input"},
      {ZipOf(R"({"source": )" + npy + R"(}, "outputs": ["z"]})"),
       R"(train.zip[2].source.npy.features: the source has no "inputs"; name them, or leave it )"
       "out"},
      {ZipOf(R"({"source": {"npy": {"features": ["x"], "labels": ["y"]}}, "inputs": ["b"]})"),
       R"(train.zip[2].source.npy.labels: the source has no "outputs"; name them, or leave it out)"},
      {ZipOf(R"({"source": )" + npy + R"(, "one_hot": true}, "inputs": ["b"]})"),
       R"(train.zip[2].source.one_hot: the source has no "outputs"; set it in one that has)"},
      {ZipOf(R"({"source": {"npy": {"features": [""]}}, "inputs": ["b"]})"),
       R"(train.zip[2].source.npy.features: "" is not the name of a file)"},
      {ZipOf(R"({"source": {"csv": {"files": ["b.csv"]}}, "outputs": ["z"]})"),
       "train.zip[2].source.csv.labels: is missing; name the column of the labels"},
  };
  for (const Case& one : cases) EXPECT_EQ(CheckJobData(JobOf(one.job)).message(), one.message);
}

TEST(DataSourceTest, AZipHasEachInputAndOutputOfTheModel) {
  const auto model = nn::testing::ModelOf({{"a", "InputLayer", R"({"batch_shape": [null, 1]})"},
                                           {"b", "InputLayer", R"({"batch_shape": [null, 1]})"},
                                           {"both", "Concatenate", "{}", {"a", "b"}},
                                           {"y", "Dense", R"({"units": 1})", {"both"}}});
  proto::Job job = JobOf(ZipOf(kCsvOfB));
  EXPECT_EQ(CheckDataFitsModel(job, *model).message(), "");
  EXPECT_EQ(InputsOf(job.train().zip(2), *model), (std::vector<int>{1}));
  EXPECT_EQ(OutputsOf(job.train().zip(1), *model), (std::vector<int>{0}));
  std::vector<std::string> paths;
  for (const DataFile& file : FilesOf("train", job.mutable_train())) paths.push_back(file.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"train.zip[0].source.npy.features[0]",
                                             "train.zip[1].source.npy.labels[0]",
                                             "train.zip[2].source.csv.files[0]"}));
  job.mutable_train()->mutable_zip(2)->set_inputs(0, "bb");
  EXPECT_EQ(CheckDataFitsModel(job, *model).message(),
            "train.zip[2].inputs: the model has no input 'bb'; did you mean 'b'? known: a, b");
  job.mutable_train()->mutable_zip()->RemoveLast();
  EXPECT_EQ(CheckDataFitsModel(job, *model).message(),
            R"(train.zip: no source has "inputs": "b", which the model wants)");
  *job.mutable_train() = JobOf(ZipOf(kCsvOfB)).train();
  job.mutable_train()->mutable_zip()->DeleteSubrange(1, 1);
  EXPECT_EQ(CheckDataFitsModel(job, *model).message(),
            R"(train.zip: no source has "outputs": "y", which has a loss)");
}

TEST(DataSourceTest, SourcesOfAValidationZipInheritFromThoseOfTraining) {
  proto::Job job = JobOf(ZipOf(kCsvOfB));
  proto::DataSource& zip = *job.mutable_validation();
  zip = job.train();
  zip.mutable_zip(2)->mutable_source()->mutable_csv()->clear_features();
  zip.mutable_zip(1)->mutable_source()->clear_one_hot();
  EXPECT_EQ(CheckJobData(job).message(), "");
  const proto::DataSource validation = ValidationSource(job);
  EXPECT_EQ(validation.zip(2).source().csv().features(0).name(), "u");
  EXPECT_TRUE(validation.zip(1).source().one_hot());
  zip.mutable_zip(2)->mutable_source()->set_standardize(true);
  EXPECT_EQ(CheckJobData(job).message(),
            R"(validation.zip[2].source.standardize: belongs to the training data; set it in )"
            R"("train")");
  zip.mutable_zip(2)->set_inputs(0, "a");
  zip.mutable_zip(0)->set_inputs(0, "b");
  EXPECT_EQ(CheckJobData(job).message(),
            "validation.zip[0].inputs: differ from those of train.zip[0], which are a; name the "
            "same");
  zip.mutable_zip()->RemoveLast();
  EXPECT_EQ(CheckJobData(job).message(),
            R"(validation.zip: has 2 sources, "train" has 3; describe both alike)");
}

TEST(DataSourceTest, EveryMistakeIsNamedWithItsPath) {
  const std::string npy = kNpy;
  const std::vector<Case> cases = {
      {R"({"train": {"idx": {"labels": ["y"]}}})",
       R"(train.idx.features: is missing; for example "features": "x.idx")"},
      {R"({"train": {"npy": {"features": ["x"]}}})",
       R"(train.npy.labels: is missing; for example "labels": "y.npy")"},
      {R"({"train": {"npy": {"features": ["x"], "labels": [""]}}})",
       R"(train.npy.labels: "" is not the name of a file)"},
      {R"({"train": {"npy": {"features": ["x"], "labels": ["y"]}, "sample_weight": [""]}})",
       R"(train.sample_weight: "" is not the name of a file)"},
      {R"({"train": {"npy": {"features": ["x"], "labels": ["y"]}, "skip_damaged": 3}})",
       R"(train.skip_damaged: is for csv, tfrecord, images, parquet and text only, not for npy; with "allow_nan": true the batches )"
       R"(with numbers that are not finite are left out (see "on_non_finite"))"},
      {R"({"train": {"csv": {"files": ["x"]}, "skip_damaged": -1}})",
       "train.skip_damaged: -1 is below 0"},
      {R"({"train": {"csv": {"files": ["x"]}, "skip_damaged": 1, "sample_weight": ["w"]}})",
       R"(train.skip_damaged: conflicts with "sample_weight", which has a weight for each row; )"
       "keep one of them"},
      {R"({"train": {"cifar10": {}}})",
       R"(train.cifar10.files: is missing; for example "files": "data_batch_*.bin")"},
      {R"({"train": {"cifar100": {"files": ["a"], "labels": "rough"}}})",
       R"(train.cifar100.labels: "rough" is not one of fine, coarse)"},
      {R"({"train": {"csv": {"files": []}}})",
       R"(train.csv.files: is missing; for example "files": "train-*.csv")"},
      {"{" + npy + R"(, "validation_fraction": 0})",
       "validation_fraction: 0 is not above 0 and below 1"},
      {"{" + npy + R"(, "validation_fraction": "NaN"})",
       "validation_fraction: nan is not above 0 and below 1"},
      {"{" + npy + R"(, "validation_choice": "last"})",
       R"(validation_choice: has no meaning without "validation_fraction")"},
      {"{" + npy + R"(, "validation_fraction": 0.5, "validation_choice": "best"})",
       R"(validation_choice: "best" is not one of last, random)"},
      {"{" + npy + R"(, "validation": {"npy": {"features": ["x"], "labels": ["y"]}},
                      "validation_fraction": 0.5})",
       R"(validation_fraction: conflicts with "validation"; keep one of them)"},
      {"{" + npy + R"(, "validation": {"npy": {"features": ["x"], "labels": ["y"]},
                      "standardize": true}})",
       R"(validation.standardize: belongs to the training data; set it in "train")"},
      {R"({"train": {"csv": {"files": ["x"],
           "labels": [{"name": "y", "vocabulary": ["No", "Yes"], "unknown": true}]}}})",
       "train.csv.labels[0].unknown: is only for features: a label outside of the vocabulary is "
       "not one of the model's classes; leave it out and list every label in \"vocabulary\""},
      {"{" + npy + R"(, "validation": {"csv": {"files": ["x"], "labels": [{"name": "x"},
           {"name": "y", "vocabulary": ["No"], "unknown": true, "output": "kind"}]}}})",
       "validation.csv.labels[1].unknown: is only for features: a label outside of the vocabulary "
       "is not one of the model's classes; leave it out and list every label in \"vocabulary\""},
      {"{" + npy + R"(, "shuffle_block": 0})",
       "shuffle_block: 0 is not a whole number of 1 or more"},
      {"{" + npy + R"(, "shuffle_block": 8, "shuffle": false})",
       R"(shuffle_block: 8 conflicts with "shuffle": false)"},
  };
  std::set<std::string> messages;
  for (const Case& one : cases) {
    const absl::Status status = CheckJobData(JobOf(one.job));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), one.message);
    EXPECT_TRUE(messages.insert(one.message).second);
  }
  EXPECT_TRUE(CheckJobData(JobOf("{" + npy + R"(, "validation_fraction": 0.25,
      "validation_choice": "random", "shuffle_block": 64})"))
                  .ok());
}

TEST(DataSourceTest, EveryOutputHasAFileOfLabels) {
  const auto two = nn::testing::ModelOf({{"in", "InputLayer", R"({"batch_shape": [null, 2]})"},
                                         {"a", "Dense", R"({"units": 1})", {"in"}},
                                         {"b", "Dense", R"({"units": 1})", {"in"}}},
                                        {"a", "b"});
  const auto refusal = [&two](const std::string& train) {
    return std::string(CheckDataFitsModel(JobOf(R"({"train": {)" + train + "}}"), *two).message());
  };
  EXPECT_EQ(refusal(R"("npy": {"features": ["x"], "labels": ["y", "z"]})"), "");
  EXPECT_EQ(refusal(R"("idx": {"features": ["x"], "labels": ["y"]})"),
            "train.idx.labels: names 1 file, the model has 2 outputs; one file, or pattern, per "
            "output");
  EXPECT_EQ(refusal(R"("cifar10": {"files": ["c"]})"),
            "train.cifar10: the model has 2 outputs, CIFAR has labels for one");
  EXPECT_EQ(refusal(R"("npy": {"features": ["x"], "labels": ["y", "z"]}, "oneHot": true)"),
            "train.one_hot: the model has 2 outputs; name those with vectors: "
            "{\"a\": true}");
  EXPECT_EQ(refusal(R"("npy": {"features": ["x"], "labels": ["y", "z"]}, "oneHotOutputs": ["a"])"),
            "");
}

TEST(DataSourceTest, ManyFilesAreTheRowsOfOneInputOrTheInputsOfAModel) {
  const auto one = nn::testing::ModelOf(
      {{"in", "InputLayer", R"({"batch_shape": [null, 2]})"}, {"out", "Dense", R"({"units": 1})"}});
  const auto two = nn::testing::ModelOf({{"a", "InputLayer", R"({"batch_shape": [null, 2]})"},
                                         {"b", "InputLayer", R"({"batch_shape": [null, 2]})"},
                                         {"both", "Concatenate", "{}", {"a", "b"}},
                                         {"out", "Dense", R"({"units": 1})", {"both"}}});
  const auto three_files =
      JobOf(R"({"train": {"npy": {"features": ["p", "q", "r"], "labels": ["y"]}}})");
  EXPECT_TRUE(CheckDataFitsModel(three_files, *one).ok());
  EXPECT_EQ(CheckDataFitsModel(three_files, *two).message(),
            "train.npy.features: names 3 files, the model has 2 inputs; one file, or pattern, per "
            "input");
  EXPECT_EQ(
      CheckDataFitsModel(JobOf(R"({"train": {"cifar10": {"files": ["c"]}}})"), *two).message(),
      "train.cifar10: the model has 2 inputs, CIFAR's images are one");
}

TEST(DataSourceTest, FilesAreListedWithTheirPathsAndCanBeChanged) {
  proto::Job job = JobOf(
      R"({"train": {"idx": {"features": ["x"], "labels": ["y", "z"]}, "sample_weight": ["w"]}})");
  std::vector<std::string> seen;
  for (const DataFile& file : FilesOf("train", job.mutable_train())) {
    seen.push_back(file.path + "=" + *file.name);
    file.name->insert(0, "/d/");
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"train.idx.features[0]=x", "train.idx.labels[0]=y",
                                            "train.idx.labels[1]=z", "train.sample_weight[0]=w"}));
  EXPECT_EQ(job.train().idx().labels(1), "/d/z");
}

TEST(DataSourceTest, EveryFormatOfTheJobFileHasRules) {
  const auto* members = proto::DataSource::descriptor()->FindOneofByName("format");
  ASSERT_EQ(members->field_count(), DataFormats().size());
  for (const DataFormat& format : DataFormats()) {
    proto::DataSource source;
    const FileLists lists = format.lists(&source);
    EXPECT_EQ(FormatOf(source), &format) << format.name;
    EXPECT_NE(lists.features, nullptr) << format.name;
    EXPECT_EQ(format.has_array_files(), lists.label_outputs != nullptr) << format.name;
  }
  EXPECT_EQ(FormatOf({}), nullptr);
}

TEST(DataSourceTest, ReplacedFilesLeaveTheSettings) {
  proto::Job job = JobOf(R"({"train": {"cifar100": {"files": ["a", "b"], "labels": "coarse"},
                                       "sample_weight": ["w"], "scale": 2}})");
  ReplaceFiles({"c"}, job.mutable_train());
  EXPECT_EQ(job.train().DebugString(),
            JobOf(R"({"train": {"cifar100": {"files": ["c"], "labels": "coarse"}, "scale": 2}})")
                .train()
                .DebugString());
  job = JobOf("{" + std::string(kNpy) + "}");
  ReplaceFiles({"c", "d"}, job.mutable_train());
  EXPECT_EQ(job.train().DebugString(),
            JobOf(R"({"train": {"npy": {"features": ["c", "d"]}}})").train().DebugString());
}

TEST(DataSourceTest, ValidationTakesFromTrainingWhatItDoesNotSet) {
  const proto::DataSource source = ValidationSource(JobOf(R"({
    "train": {"csv": {"files": ["t"], "labels": [{"name": "y"}], "delimiter": ";",
                      "missing": ["?"], "header": false},
              "scale": 2, "standardize": true, "one_hot": true},
    "validation": {"csv": {"files": ["v"], "missing": ["NA"]}, "one_hot": false}})"));
  EXPECT_EQ(source.csv().files(0), "v");
  EXPECT_EQ(source.csv().labels(0).name(), "y");
  EXPECT_EQ(source.csv().delimiter(), ";");
  EXPECT_EQ(source.csv().missing(0), "NA");
  EXPECT_FALSE(source.csv().header());
  EXPECT_TRUE(source.standardize());
  EXPECT_FALSE(source.one_hot());
  EXPECT_FALSE(source.has_scale());
}

TEST(DataSourceTest, WorkersDivideTheFilesOfTheseSources) {
  const std::string npy = R"({"npy": {"features": ["x"], "labels": ["y"]}})";
  const std::string csv = R"({"csv": {"files": ["x"], "features": [{"name": "a"}]}})";
  const std::string open =
      R"({"csv": {"files": ["x"], "features": [{"name": "a", "categorical": true}]}})";
  const auto several = [](const std::string& kind, const std::vector<std::string>& sources) {
    std::string all;
    for (const std::string& each : sources) {
      all += (all.empty() ? "" : ", ") + (R"({"source": )" + each + "}");
    }
    return R"({")" + kind + R"(": [)" + all + "]}";
  };
  const auto names_of = [](const std::string& train, const std::string& validation) {
    std::string names;
    for (const PlacedSource& each :
         SurveyedSources(JobOf(R"({"train": )" + train + validation + "}"))) {
      EXPECT_TRUE(IsDivisible(each.source));
      names += (each.is_validation ? "validation " : "train ") + each.name + ";";
      EXPECT_TRUE(each.name.empty() || each.name[4] == '0' + each.number) << each.name;
    }
    return names;
  };
  EXPECT_EQ(names_of(npy, ""), "");
  EXPECT_EQ(names_of(csv, ""), "train ;");
  EXPECT_EQ(names_of(open, R"(, "validation": )" + csv), "train ;validation ;");
  EXPECT_EQ(names_of(npy, R"(, "validation": )" + csv), "validation ;");
  EXPECT_EQ(names_of(several("mix", {npy, csv, open, csv}), R"(, "validation": )" + npy),
            "train mix[1];train mix[3];");
  EXPECT_EQ(names_of(several("zip", {npy, csv, open}),
                     R"(, "validation": )" + several("zip", {csv, npy})),
            "train zip[1];validation zip[0];");
  std::string skips = several("zip", {npy, csv});
  skips.insert(skips.rfind("}}"), R"(, "skip_damaged": 1)");  // In the last source.
  EXPECT_EQ(names_of(skips, ""), "") << skips;
}

TEST(DataSourceTest, LabelsOfAllOutputsOrOfSomeAreOneHot) {
  const std::string some = R"({"train": {"npy": {}, "one_hot_outputs": ["a"]}, "validation": )";
  const std::tuple<const char*, bool, bool> cases[] = {
      {R"({"npy": {}}})", true, false},
      {R"({"npy": {}, "one_hot_outputs": ["b"]}})", false, true},
      {R"({"npy": {}, "one_hot": false}})", false, false},
      {R"({"npy": {}, "one_hot": true}})", true, true}};
  for (const auto& [validation, a, b] : cases) {
    const proto::DataSource source = ValidationSource(JobOf(some + validation));
    EXPECT_EQ(IsOneHot(source, "a"), a) << validation;
    EXPECT_EQ(IsOneHot(source, "b"), b) << validation;
  }
}

}  // namespace
}  // namespace cairn::job
