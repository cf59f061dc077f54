#include "cli/job_file.h"

#include <filesystem>
#include <initializer_list>
#include <set>

#include "cli/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The example of doc/job_file.md.
json GoodJob() {
  return json::parse(R"({
    "name": "fashion_mnist_cnn",
    "model": "fashion_cnn.json",
    "train": {"idx": {"features": "data/x.gz", "labels": "/abs/y.gz"}, "scale": 0.5},
    "validation": {"npy": {"features": ["a.npy", "../b.npy"], "labels": "c.npy"}},
    "loss": "sparse_categorical_crossentropy",
    "metrics": ["accuracy"],
    "optimizer": {"name": "adam", "learning_rate": 0.001},
    "batch_size": 128, "epochs": 3, "shuffle": true, "seed": 18446744073709551615,
    "strategy": {"parameter_server": {"mode": "sync", "batches_per_update": 2}},
    "checkpoint": {"every_steps": 200, "keep": 3}
  })");
}

std::string Refusal(const std::string& text) {
  const auto job = ParseJobFile(text, "/jobs");
  if (job.ok()) return "accepted";
  EXPECT_EQ(job.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(job.status().message());
}

// The valid job with the value at a JSON pointer replaced.
std::string RefusalWith(const std::string& pointer, const json& value) {
  json job = GoodJob();
  job[json::json_pointer(pointer)] = value;
  return Refusal(job.dump());
}

std::string RefusalWithout(const std::string& key) {
  json job = GoodJob();
  job.erase(key);
  return Refusal(job.dump());
}

TEST(JobFileTest, WholeExampleIsRead) {
  const auto job = ParseJobFile(GoodJob().dump(), "/jobs/mine");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->name(), "fashion_mnist_cnn");
  EXPECT_EQ(job->train().scale(), 0.5);
  EXPECT_EQ(job->loss().name(), "sparse_categorical_crossentropy");
  EXPECT_EQ(job->optimizer().learning_rate(), 0.001);
  EXPECT_EQ(job->seed(), 18446744073709551615u);
  EXPECT_TRUE(job->shuffle());
  EXPECT_EQ(job->strategy().parameter_server().batches_per_update(), 2);
  EXPECT_EQ(job->checkpoint().every_steps(), 200);
  EXPECT_FALSE(job->has_steps());
}

TEST(JobFileTest, RelativePathsAreRelativeToTheJobFile) {
  const auto job = ParseJobFile(GoodJob().dump(), "/jobs/mine");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->model(), "/jobs/mine/fashion_cnn.json");
  EXPECT_THAT(job->train().idx().features(), ElementsAre("/jobs/mine/data/x.gz"));
  EXPECT_THAT(job->train().idx().labels(), ElementsAre("/abs/y.gz"));
  EXPECT_THAT(job->validation().npy().features(), ElementsAre("/jobs/mine/a.npy", "/jobs/b.npy"));
}

TEST(JobFileTest, NamesStandForMessagesAndSingleValuesForLists) {
  json text = GoodJob();
  text["optimizer"] = "sgd";
  text["loss"] = {{"name", "mse"}};
  text["metrics"] = "mae";
  const auto job = ParseJobFile(text.dump(), "/jobs");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->optimizer().name(), "sgd");
  EXPECT_EQ(job->loss().name(), "mse");
  EXPECT_THAT(job->metrics(), ElementsAre("mae"));
}

TEST(JobFileTest, ANameStandsForAStrategy) {
  for (const char* const name :
       {"parameter_server", "multi_worker_mirrored", "mirrored", "central_storage", "one_device"}) {
    json text = GoodJob();
    text["strategy"] = name;
    const auto job = ParseJobFile(text.dump(), "/jobs");
    ASSERT_TRUE(job.ok()) << job.status();
    text["strategy"] = {{name, json::object()}};
    EXPECT_EQ(job->strategy().DebugString(),
              ParseJobFile(text.dump(), "/jobs")->strategy().DebugString());
  }
}

TEST(JobFileTest, AMetricMayHaveArgumentsAndANameOfItsOwn) {
  json text = GoodJob();
  text["metrics"] = {"mae", {{"name", "auc"}, {"curve", "PR"}, {"as", "pr_auc"}}};
  const auto job = ParseJobFile(text.dump(), "/jobs");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(job->metrics(), ElementsAre("mae", "pr_auc"));
  ASSERT_EQ(job->metric_arguments_size(), 1);
  EXPECT_EQ(job->metric_arguments(0).index(), 1u);
  EXPECT_EQ(job->metric_arguments(0).metric().name(), "auc");
  EXPECT_EQ(job->metric_arguments(0).metric().curve(), "PR");
}

TEST(JobFileTest, MetricsWithWrongArgumentsAreRefusedWithTheirPlace) {
  const auto refusal = [](const json& metrics) {
    json text = GoodJob();
    text["metrics"] = metrics;
    return std::string(ParseJobFile(text.dump(), "/jobs").status().message());
  };
  EXPECT_EQ(refusal({"mae", {{"name", "auc"}, {"curv", "PR"}}}),
            "metrics[1]: curv: unknown field; did you mean \"curve\"?");
  EXPECT_EQ(refusal({"mae", {{"name", "auc"}, {"as", 3}}}), "metrics[1].as: 3 is not a name");
  EXPECT_EQ(refusal({{"curve", "PR"}}), "metrics.name: is missing; for example \"name\": \"auc\"");
  EXPECT_EQ(refusal({"mae", 7}), "metrics[1]: 7 is not a string");
}

TEST(JobFileTest, ALearningRateMayBeASchedule) {
  json text = GoodJob();
  text["optimizer"] = {{"name", "sgd"},
                       {"learning_rate",
                        {{"name", "exponential_decay"},
                         {"initial_learning_rate", 0.1},
                         {"decay_steps", 100},
                         {"decay_rate", 0.9}}}};
  const auto job = ParseJobFile(text.dump(), "/jobs");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->optimizer().learning_rate_schedule().name(), "exponential_decay");
  EXPECT_EQ(job->optimizer().learning_rate_schedule().decay_steps(), 100);
  text["optimizer"]["learning_rate"]["decay_step"] = 3;
  EXPECT_EQ(ParseJobFile(text.dump(), "/jobs").status().message(),
            "optimizer.learning_rate.decay_step: unknown field; did you mean \"decay_steps\"?");
}

using Cases = std::vector<std::pair<std::string, std::string>>;

// Compares messages with the expected ones. All messages of different mistakes must differ.
void ExpectOwnMessages(const Cases& cases) {
  std::set<std::string> all;
  for (const auto& [got, expected] : cases) {
    EXPECT_EQ(got, expected);
    EXPECT_TRUE(all.insert(got).second) << "twice: " << got;
  }
}

TEST(JobFileTest, EveryMistakeAboutFormModelAndDataHasItsOwnMessage) {
  ExpectOwnMessages({
      {Refusal("{"),
       "not JSON: line 1, column 2: unexpected end of input; expected string literal"},
      {Refusal("[1, 2]"), "the file: [1,2] is not an object, {...}"},
      {Refusal(R"({"name": "a", "name": "b"})"), "name: appears twice; keep one of them"},
      {RefusalWith("/optimiser", "adam"), "optimiser: unknown field; did you mean \"optimizer\"?"},
      {RefusalWith("/train/idx/feature", "x"),
       "train.idx.feature: unknown field; did you mean \"features\"?"},
      {RefusalWith("/train/picture", json::object()),
       "train.picture: unknown field; known here: idx, npy, csv, cifar10, cifar100, tfrecord, npz, "
       "images, parquet, text, "
       "scale, "
       "standardize, one_hot, allow_nan, sample_weight, skip_damaged, rows, drop_remainder, "
       "pipeline, mix, zip"},
      {RefusalWith("/train/npy", json::object()),
       "train: has both \"idx\" and \"npy\"; keep one of them"},
      {RefusalWith("/name", 5), "name: 5 is not a string"},
      {RefusalWith("/name", "42"),
       "name: \"42\" consists of digits only, which is an id; add a letter"},
      {RefusalWith("/name", "a b"),
       "name: \"a b\" must consist of at most 128 letters, digits, '_', '-' and '.', and must not "
       "begin with '-' or '.'"},
      {RefusalWithout("name"), "name: is missing or empty; for example \"name\": \"mnist\""},
      {RefusalWithout("model"), "model: is missing; for example \"model\": \"model.json\""},
      {RefusalWith("/model", std::string("a\0b", 3)),
       "model: \"a\\u0000b\" contains a zero character"},
      {RefusalWithout("train"),
       "train: is missing; for example \"train\": {\"npy\": {\"features\": "
       "\"x.npy\", \"labels\": \"y.npy\"}}"},
      {RefusalWith("/train", json::object()),
       "train: has no format (idx, npy, csv, cifar10, cifar100, tfrecord, npz, images, parquet, "
       "text); for "
       "example "
       "{\"npy\": "
       "{\"features\": \"x.npy\", \"labels\": \"y.npy\"}}"},
      {RefusalWith("/train", "x.npy"), "train: \"x.npy\" is not an object"},
      {RefusalWith("/train/idx", {{"labels", "y"}}),
       "train.idx.features: is missing; for example \"features\": \"x.idx\""},
      {RefusalWith("/train/idx", {{"features", ""}, {"labels", "y"}}),
       "train.idx.features: \"\" is not the name of a file"},
      {RefusalWith("/train/idx", {{"features", {"x", 7}}, {"labels", "y"}}),
       "train.idx.features[1]: 7 is not a string"},
      {RefusalWith("/validation/npy", {{"features", "x"}}),
       "validation.npy.labels: is missing; for example \"labels\": \"y.npy\""},
      {RefusalWith("/train/scale", "1/255"), "train.scale: \"1/255\" is not a number"},
  });
}

TEST(JobFileTest, EveryMistakeAboutTrainingHasItsOwnMessage) {
  ExpectOwnMessages({
      {RefusalWithout("loss"),
       "loss: is missing; for example \"loss\": \"sparse_categorical_crossentropy\""},
      {RefusalWith("/loss", json::object()),
       "loss.name: is missing; for example \"name\": \"mse\""},
      {RefusalWith("/loss", 3), "loss: 3 is not a name or an object"},
      {RefusalWith("/loss", {{"name", "mse"}, {"from_logits", "yes"}}),
       "loss.from_logits: \"yes\" is not true or false"},
      {RefusalWith("/metrics", json::array({"mae", nullptr})), "metrics[1]: null is not a string"},
      {RefusalWithout("optimizer"), "optimizer: is missing; for example \"optimizer\": \"adam\""},
      {RefusalWith("/optimizer", {{"learning_rate", 1}}),
       "optimizer.name: is missing; for example \"name\": \"adam\""},
      {RefusalWith("/optimizer/learning_rate", json::array({0.1})),
       "optimizer.learning_rate: [0.1] is not a number"},
      {RefusalWithout("batch_size"), "batch_size: is missing; for example \"batch_size\": 128"},
      {RefusalWith("/batch_size", 0), "batch_size: 0 is not from 1 to 1048576"},
      {RefusalWith("/batch_size", 1.5), "batch_size: 1.5 is not a whole number"},
      {RefusalWith("/batch_size", 9223372036854775808u),
       "batch_size: 9223372036854775808 is not a whole number below 2^63"},
      {RefusalWith("/shuffle", 1), "shuffle: 1 is not true or false"},
      {RefusalWith("/seed", -1), "seed: -1 is not a whole number from 0 to 18446744073709551615"},
      {RefusalWith("/strategy", "sync"),
       "strategy: \"sync\" is not one of parameter_server, multi_worker_mirrored, mirrored, "
       "central_storage, one_device"},
      {RefusalWith("/strategy", 1), "strategy: 1 is not an object"},
  });
}

// Arguments of Keras's fit and compile have the same name here, or the message says what replaces
// them. A file that follows the message is accepted.
struct KerasWord {
  const char* pointer;
  json value;
  const char* answer;
  const char* right;  // A merge patch (RFC 7386).
};

void ExpectAnswers(std::initializer_list<KerasWord> words) {
  for (const KerasWord& word : words) {
    EXPECT_THAT(RefusalWith(word.pointer, word.value), HasSubstr(word.answer)) << word.pointer;
    json job = GoodJob();
    job.merge_patch(json::parse(word.right));
    EXPECT_EQ(Refusal(job.dump()), "accepted") << word.right;
  }
}

TEST(JobFileTest, AWordOfKerasIsAnsweredWithWhatToSayHere) {
  ExpectAnswers({
      {"/batch", 8, R"(here it is "batch_size")", R"({"batch_size": 8})"},
      {"/batchsize", 8, R"(did you mean "batch_size"?)", R"({"batch_size": 8})"},
      {"/epoch", 8, R"(did you mean "epochs"?)", R"({"epochs": 8})"},
      {"/nb_epoch", 8, R"(here it is "epochs")", R"({"epochs": 8})"},
      {"/limit_train_batches", 8, R"(here it is "steps_per_epoch")", R"({"steps_per_epoch": 8})"},
      {"/validation_split", 0.2, R"(here it is "validation_fraction")",
       R"({"validation_fraction": 0.2, "validation": null})"},
      {"/validation_data", "x.npy", R"(here it is "validation", which says)", "{}"},
      {"/eval_steps", 8, R"(here it is "validation_steps")", R"({"validation_steps": 8})"},
      {"/validation_batch_size", 8, "leave it out", "{}"},
      {"/sample_weight", "w.npy", R"(it is a field of "train")",
       R"({"train": {"sample_weight": "w.npy"}})"},
      {"/class_weights", json::object(), R"(did you mean "class_weight"?)",
       R"({"class_weight": {"0": 1, "1": 2}})"},
      {"/verbose", 2, "leave it out", "{}"},
      {"/learning_rate", 0.1, R"("optimizer": {"name": "adam", "learning_rate": 0.001})",
       R"({"optimizer": {"name": "adam", "learning_rate": 0.001}})"},
      {"/lr", 0.1, R"("optimizer": {"name": "adam", "learning_rate": 0.001})", "{}"},
      {"/optimizer/lr", 0.1, R"(here it is "learning_rate")",
       R"({"optimizer": {"learning_rate": 0.1}})"},
      {"/optimizer/decay", 0.1, R"("learning_rate": {"name": "inverse_time_decay")",
       R"({"optimizer": {"learning_rate": {"name": "inverse_time_decay",
           "initial_learning_rate": 0.01, "decay_steps": 1, "decay_rate": 0.001}}})"},
      {"/momentum", 0.9, R"(say it under "optimizer")",
       R"({"optimizer": {"name": "sgd", "momentum": 0.9}})"},
      {"/patience", 3, R"("callbacks": [{"name": "early_stopping", "patience": 3}])",
       R"({"callbacks": [{"name": "early_stopping", "patience": 3}]})"},
      {"/EarlyStopping", json::object(), R"(it is a callback: "callbacks": [)", "{}"},
      {"/loss_weight", 2, R"(did you mean "loss_weights"?)", R"({"loss_weights": 2})"},
      {"/save_freq", 100, R"(say "checkpoint": {"every_steps": 200})",
       R"({"checkpoint": {"every_steps": 200}})"},
      {"/callbacks",
       {{{"name", "TensorBoard"}, {"log_dir", "logs"}}},
       "callbacks[0].name: unknown callback 'TensorBoard'; ",
       R"({"callbacks": []})"},
      {"/callbacks",
       {{{"name", "ModelCheckpoint"}, {"filepath", "best.keras"}}},
       "leave it out",
       R"({"callbacks": [{"name": "ModelCheckpoint", "save_best_only": true}]})"},
      {"/loss",
       {{"class_name", "BinaryCrossentropy"}, {"config", json::object()}},
       "loss.class_name: unknown field; name and arguments stand in one object",
       R"({"loss": {"name": "BinaryCrossentropy", "from_logits": true}})"},
  });
}

TEST(JobFileTest, AWordOfADatasetOrAPartitionerIsAnsweredWithWhatToSayHere) {
  ExpectAnswers({
      {"/train/normalize", true, R"(here it is "standardize")",
       R"({"train": {"standardize": true}})"},
      {"/train/idx/x", "x", R"(here it is "features")", "{}"},
      {"/train/repeat", 2, R"("steps_per_epoch"; leave it out)", R"({"steps_per_epoch": 8})"},
      {"/train/prefetch", 2, "leave it out", "{}"},
      {"/train/batch", 32, R"(it is the job's "batch_size")", R"({"batch_size": 32})"},
      {"/train/padded_batch", 32, R"("pipeline": [{"pad": {"length": 20}}])",
       R"({"train": {"pipeline": [{"pad": {"length": 20}}]}})"},
      {"/train/ignore_errors", true, R"(here it is "skip_damaged")", "{}"},
      {"/train/pipeline",
       {{{"shuffle", 100}}},
       R"(of the job: "shuffle": true)",
       R"({"shuffle": true})"},
      {"/train/pipeline", {{{"flat_map", "f"}}}, "a job runs no Python", "{}"},
      {"/partitioner",
       {{"FixedShardsPartitioner", 4}},
       R"(here it is "fixed_shards": 4)",
       R"({"partitioner": {"fixed_shards": 4}})"},
      {"/partitioner",
       {{"min_max_variable_partitioner", json::object()}},
       R"("min_size": {"min_shard_bytes": 262144, "max_shards": 4})",
       R"({"partitioner": {"min_size": {"min_shard_bytes": 262144, "max_shards": 4}}})"},
      {"/partitioner",
       {{"variable_axis_size_partitioner", json::object()}},
       R"("max_size": {"max_shard_bytes": 1048576})",
       R"({"partitioner": {"max_size": {"max_shard_bytes": 1048576}}})"},
      {"/partitioner",
       {{"min_size", {{"min_slice_size", 100}}}},
       R"(here it is "min_shard_bytes")",
       R"({"partitioner": {"min_size": {"min_shard_bytes": 100}}})"},
      {"/placement", "round_robin", R"(say "partitioner": {"placement": "round_robin"})",
       R"({"partitioner": {"placement": "round_robin"}})"},
      {"/train/features", "x", "it is a field of the format", "{}"},
  });
}

TEST(JobFileTest, AJobGoesOnFromAnotherJobOrFromAFile) {
  const auto resumed = [](const json& from) {
    json job = GoodJob();
    job["resume_from"] = from;
    return ParseJobFile(job.dump(), "/jobs/mine").value();
  };
  EXPECT_FALSE(ResumesFromFile(ParseJobFile(GoodJob().dump(), "/jobs").value()));
  EXPECT_FALSE(ResumesFromFile(resumed("base.1")));
  EXPECT_EQ(resumed("base.1").resume_from().name(), "base.1");
  for (const char* file : {"../base/model.json", "/jobs/base/model.json"}) {
    EXPECT_TRUE(ResumesFromFile(resumed(file)));
    EXPECT_EQ(resumed(file).resume_from().name(), "/jobs/base/model.json");
  }
  for (const std::string file : {"model.json", "mobilenet.keras", "a.H5", "a.hdf5", "a.onnx"}) {
    EXPECT_EQ(resumed(file).resume_from().name(), "/jobs/mine/" + file);
  }
  EXPECT_EQ(resumed({{"name", "./model.json"}}).resume_from().name(), "/jobs/mine/model.json");
  EXPECT_THAT(RefusalWith("/resume_from", {{"name", "./model.json"}, {"best", true}}),
              HasSubstr("resume_from.name: \"./model.json\" is a file"));
}

TEST(JobFileTest, FilesThatCannotBeReadAreNamed) {
  const auto missing = ReadJobFile("/no/such/job.json");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("/no/such/job.json"));
  const auto folder = ReadJobFile("/tmp");
  EXPECT_THAT(std::string(folder.status().message()), HasSubstr("/tmp: it is a folder"));
}

TEST(JobFileTest, AModelInPlaceOfAJobIsRecognized) {
  for (const char* model : {R"({"class_name": "Sequential", "config": {}})",
                            R"({"format": "layers-model", "modelTopology": {}})"}) {
    EXPECT_THAT(Refusal(model), HasSubstr("this is a model; a job file names it by \"model\""));
  }
}

TEST(JobFileTest, CommentsExplainAJobFile) {
  const auto job = ParseJobFile("// mine\n" + GoodJob().dump() + " /* the end */", "/jobs");
  EXPECT_TRUE(job.ok()) << job.status();
}

TEST(JobFileTest, DataSourcesStandAloneToo) {
  const proto::DataSource train = ParseJobFile(GoodJob().dump(), "/jobs")->train();
  const auto inline_data =
      ReadDataSource(R"({"npy": {"features": "x.npy", "labels": "/y.npy"}, "scale": 0.5})", train);
  ASSERT_TRUE(inline_data.ok()) << inline_data.status();
  EXPECT_EQ(inline_data->npy().features(0), std::filesystem::current_path().string() + "/x.npy");
  EXPECT_EQ(inline_data->scale(), 0.5);

  const std::string file = testing::TempDir() + "job_file_test_data/source.json";
  ASSERT_TRUE(WriteFile(file, R"({"npy": {"features": "x.npy", "labels": "y.npy"}} // mine)").ok());
  const auto data = ReadDataSource(file, train);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->npy().features(0), testing::TempDir() + "job_file_test_data/x.npy");

  EXPECT_EQ(ReadDataSource(R"({"npi": {}})", train).status().message(),
            "--data: npi: unknown field; did you mean \"npy\"?");
  EXPECT_THAT(std::string(ReadDataSource(R"({"npy": {}})", train).status().message()),
              testing::StartsWith("--data: npy"));
  EXPECT_EQ(ReadDataSource("/no/such/file", train).status().code(), absl::StatusCode::kNotFound);
}

TEST(JobFileTest, AFileWithExamplesIsReadAsTheTrainingDataAre) {
  proto::DataSource train;
  train.mutable_csv()->add_files("/train-1.csv");
  train.mutable_csv()->add_files("/train-2.csv");
  train.mutable_csv()->set_delimiter(";");
  train.mutable_csv()->add_labels()->set_name("y");
  train.set_scale(0.5);
  train.add_sample_weight("/w.npy");
  for (const char* name : {"test.csv", "test.CSV.gz", "part-*.tsv"}) {
    const auto data = ReadDataSource(name, train);
    ASSERT_TRUE(data.ok()) << data.status();
    ASSERT_EQ(data->csv().files_size(), 1);
    EXPECT_EQ(data->csv().files(0), std::filesystem::current_path().string() + "/" + name);
    EXPECT_EQ(data->csv().delimiter(), ";");
    EXPECT_EQ(data->csv().labels(0).name(), "y");
    EXPECT_EQ(data->scale(), 0.5);
    EXPECT_EQ(data->sample_weight_size(), 0);
  }
  proto::DataSource images;
  images.mutable_cifar100()->set_labels("coarse");
  const auto data = ReadDataSource("/d/test.bin", images);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->cifar100().files(0), "/d/test.bin");
  EXPECT_EQ(data->cifar100().labels(), "coarse");
}

TEST(JobFileTest, AFileThatIsNoDescriptionGetsAnExampleOfOne) {
  const std::string folder = testing::TempDir() + "job_file_test_data/";
  proto::DataSource npy;
  npy.mutable_npy();
  proto::DataSource idx;
  idx.mutable_idx();
  proto::DataSource csv;
  csv.mutable_csv();
  const struct {
    std::string file;
    const proto::DataSource* train;
    std::string example;
  } cases[] = {{folder + "x.npy", &npy, R"({"npy":{"features":"FILE","labels":"y.npy"}})"},
               {folder + "x.npy", &csv, R"({"npy":{"features":"FILE","labels":"y.npy"}})"},
               {folder + "x.data", &csv, R"({"csv":{"files":"FILE"}})"},
               {folder + "x.idx", &idx, R"({"idx":{"features":"FILE","labels":"y.idx"}})"},
               {folder + "x.csv", &npy, R"({"csv":{"files":"FILE","labels":"LABEL_COLUMN"}})"}};
  for (const auto& one : cases) {
    ASSERT_TRUE(WriteFile(one.file, "\x93NUMPY").ok());
    std::string example = one.example;
    example.replace(example.find("FILE"), 4, one.file);
    EXPECT_EQ(ReadDataSource(one.file, *one.train).status().message(),
              "--data: " + one.file +
                  " has no JSON object; describe the data as \"validation\" in a job file does, "
                  "for example --data '" +
                  example + "'");
  }
}

}  // namespace
}  // namespace cairn::cli
