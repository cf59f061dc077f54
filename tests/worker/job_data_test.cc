#include "worker/job_data.h"

#include <algorithm>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"
#include "tests/worker/counting_plan.h"
#include "tests/worker/data/data_files.h"
#include "tests/worker/data/tfrecord/example_bytes.h"
#include "tests/worker/line_plan.h"
#include "worker/job_inspection.h"

namespace cairn::worker {
namespace {

using cairn::testing::NpyBytes;
using cairn::testing::Raw;
using cairn::testing::WriteDataFile;
using ::testing::HasSubstr;

TEST(JobDataTest, RowsAreChosenBeforeTheValidationFraction) {
  const proto::JobPlan plan =
      Planned(LinePlan(TenNumbers(R"(, "rows": [2, 8]}, "validation_fraction": 0.5)")));
  EXPECT_EQ(plan.examples(), 3);
  EXPECT_EQ(plan.validation_examples(), 3);
  const JobData data = Open(plan);
  EXPECT_EQ(InputsOf(*data.train), (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(InputsOf(*data.validation), (std::vector<float>{5, 6, 7}));
}

TEST(JobDataTest, ThePipelineComesBeforeTheValidationFraction) {
  const proto::JobPlan plan = Planned(LinePlan(TenNumbers(
      R"(, "pipeline": [{"filter": "label <> 4"}, {"shard": {"num_shards": 2, "index": 1}}]},
         "validation_fraction": 0.5)")));
  EXPECT_EQ(plan.examples(), 2);
  const JobData data = Open(plan);
  EXPECT_EQ(InputsOf(*data.train), (std::vector<float>{1, 3}));
  EXPECT_EQ(InputsOf(*data.validation), (std::vector<float>{6, 8}));
}

TEST(JobDataTest, PredictionsAreOfAllRowsAndKeepWindows) {
  for (const int64_t label_offset : {1, 20}) {
    proto::JobPlan plan = LinePlan(TenNumbers(R"(})"));
    auto& window = *plan.mutable_job()->mutable_train()->add_pipeline()->mutable_window();
    window.set_size(2);
    window.set_shift(1);
    window.set_label_offset(label_offset);
    plan.mutable_job()->mutable_train()->add_pipeline()->set_take(3);
    *plan.mutable_job()->mutable_validation() = plan.job().train();
    plan.mutable_job()->mutable_validation()->clear_pipeline();
    // As cli::PredictionSource makes it.
    plan.mutable_job()->mutable_validation()->mutable_npy()->clear_labels();
    *plan.mutable_model() =
        nn::testing::SpecOf({{"in", "InputLayer", R"({"batch_shape": [null, 2, 1]})"},
                             {"flat", "Flatten", "{}"},
                             {"out", "Dense", R"({"units": 1})"}});
    const auto model = nn::Model::Create(plan.model());
    const auto inputs = LoadInputs(plan, **model, {});
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    ASSERT_EQ((*inputs)->examples(), 9);
    std::vector<float> values(4);
    ASSERT_TRUE((*inputs)->ReadInput(0, {0, 8}, values.data()).ok());
    EXPECT_EQ(values, (std::vector<float>{0, 1, 8, 9}));
  }
}

TEST(JobDataTest, AMixtureHasTheRowsOfItsSourcesByTheirWeights) {
  const proto::JobPlan plan =
      Planned(LinePlan(R"({"train": )" + MixOf(R"(, "weight": 1)", R"(, "weight": 1)") +
                       R"(, "validation": )" + MixOf("", "") + "}"));
  EXPECT_EQ(plan.examples(), 8);
  EXPECT_EQ(plan.validation_examples(), 12);
  const JobData data = Open(plan);
  EXPECT_EQ(InputsOf(*data.train), (std::vector<float>{100, 0, 101, 10, 102, 20, 103, 30}));
  EXPECT_EQ(InputsOf(*data.validation),
            (std::vector<float>{100, 101, 0, 102, 103, 10, 104, 105, 20, 106, 107, 30}));
  // The second pass goes on in the longer source and repeats the shorter one.
  std::vector<float> second(8);
  ASSERT_TRUE(data.train->ReadLabels(0, {8, 9, 10, 11, 12, 13, 14, 15}, second.data()).ok());
  EXPECT_EQ(second, (std::vector<float>{104, 0, 105, 1, 106, 2, 107, 3}));
  EXPECT_TRUE(data.train->in_memory());
  EXPECT_FALSE(data.train->has_weights());
}

TEST(JobDataTest, SomeSourcesOfAMixtureMayHaveSampleWeights) {
  const std::string weights =
      Quoted(WriteDataFile("w.npy", NpyBytes("<f4", "(4,)", Raw<float>({0.5, 2, 3, 4}))));
  std::string mix = MixOf("", "");
  mix.insert(mix.find(R"("scale")"), R"("sample_weight": [)" + weights + "], ");
  const JobData data = Open(Planned(LinePlan(R"({"train": )" + mix + "}")));
  ASSERT_TRUE(data.train->has_weights());
  std::vector<float> read(4);
  ASSERT_TRUE(data.train->ReadWeights({0, 1, 2, 5}, read.data()).ok());
  EXPECT_EQ(read, (std::vector<float>{1, 1, 0.5, 2}));
}

TEST(JobDataTest, AMixtureThatWasNotPlannedHasThePlanOfTheJob) {
  const std::string train = Quoted(WriteDataFile("um_t.csv", "a,b,k\n1,2,u\n3,4,v\n"));
  const std::string other = Quoted(WriteDataFile("um_o.csv", "b,a,k\n6,5,v\n"));
  const auto evaluated = [&](const std::string& label, const std::string& features) {
    proto::JobPlan plan =
        LinePlan(R"({"train": {"csv": {"files": [)" + train + R"(], "labels": [{"name": "k", )" +
                 label + "}]" + features + "}}}");
    *plan.mutable_model() =
        nn::testing::SpecOf({{"in", "InputLayer", R"({"batch_shape": [null, 2]})"},
                             {"out", "Dense", R"({"units": 1})"}});
    plan = Planned(plan);
    *plan.mutable_job()->mutable_validation() =
        LinePlan(R"({"train": {"mix": [{"source": {"csv": {"files": [)" + other +
                 R"(], "labels": [{"name": "k", "categorical": true}]}}}]}})")
            .job()
            .train();
    return plan;
  };
  const std::string found = R"("categorical": true)";
  // The columns in the order of the training data, and the ids of its classes.
  const JobData data = Open(evaluated(found, ""));
  std::vector<float> values(2);
  ASSERT_TRUE(data.validation->ReadInput(0, {0}, values.data()).ok());
  EXPECT_EQ(values, (std::vector<float>{5, 6}));
  float label = 0;
  ASSERT_TRUE(data.validation->ReadLabels(0, {0}, &label).ok());
  EXPECT_EQ(label, 1);
  const std::string named = R"(, "features": [{"name": "b"}, {"name": "a"}])";
  EXPECT_THAT(OpenError(evaluated(found, named)),
              HasSubstr("mix[0]: name the columns in \"features\""));
  EXPECT_THAT(OpenError(evaluated(R"("vocabulary": ["u", "v"])", "")),
              HasSubstr("mix[0]: list the \"vocabulary\" of \"k\""));
}

TEST(JobDataTest, AValidationMixtureIsStandardizedAsTheTrainingData) {
  const proto::JobPlan plan = Planned(LinePlan(TenNumbers(
      R"(, "standardize": true}, "validation": {"mix": [{"source": )" + NumbersFrom(20, 2) +
      R"(}}, {"source": )" + NumbersFrom(30, 2) + R"(, "scale": 0.5}}]})")));
  const auto standardized = [](float value) {
    return static_cast<float>((value - 4.5f) * (1 / std::sqrt(8.25)));
  };
  EXPECT_THAT(InputsOf(*Open(plan).validation),
              ::testing::Pointwise(::testing::FloatEq(), {standardized(15), standardized(20),
                                                          standardized(15.5), standardized(21)}));
}

// Two inputs and an output, whose names are those of a zip.
proto::JobPlan ZipPlan(const std::string& job) {
  proto::JobPlan plan = LinePlan(job);
  *plan.mutable_model() = nn::testing::SpecOf({{"a", "InputLayer", R"({"batch_shape": [null, 1]})"},
                                               {"b", "InputLayer", R"({"batch_shape": [null, 2]})"},
                                               {"both", "Concatenate", "{}", {"a", "b"}},
                                               {"y", "Dense", R"({"units": 1})", {"both"}}});
  return plan;
}

// Input a is in an .npy file, b and the labels are in a .csv file. Both have five rows.
std::string ZipOf(const std::string& of_csv = "", const std::string& of_npy = "") {
  const std::string npy = Quoted(
      WriteDataFile("zip_a.npy", NpyBytes("<f4", "(5, 1)", Raw<float>({10, 11, 12, 13, 14}))));
  const std::string csv =
      Quoted(WriteDataFile("zip_b.csv", "u,v,y\n0,0,0\n1,10,1\n2,20,2\n3,30,3\n4,40,4\n"));
  return R"({"zip": [{"source": {"csv": {"files": [)" + csv +
         R"(], "features": [{"name": "u"}, {"name": "v"}], "labels": [{"name": "y"}]})" + of_csv +
         R"(}, "inputs": ["b"], "outputs": ["y"]}, {"source": {"npy": {"features": [)" + npy +
         "]}" + of_npy + R"(}, "inputs": ["a"]}]})";
}

std::vector<float> InputOf(const Dataset& data, int input) {
  std::vector<int64_t> indices(data.examples());
  std::iota(indices.begin(), indices.end(), 0);
  std::vector<float> values(indices.size() * data.input_elements(input));
  EXPECT_TRUE(data.ReadInput(input, indices, values.data()).ok());
  return values;
}

std::vector<float> LabelsOf(const Dataset& data) {
  std::vector<int64_t> indices(data.examples());
  std::iota(indices.begin(), indices.end(), 0);
  std::vector<float> values(indices.size());
  EXPECT_TRUE(data.ReadLabels(0, indices, values.data()).ok());
  return values;
}

TEST(JobDataTest, AZipHasThePartsOfItsSources) {
  const proto::JobPlan plan = Planned(
      ZipPlan(R"({"train": )" + ZipOf("", R"(, "scale": 2)") + R"(, "validation_fraction": 0.4})"));
  EXPECT_EQ(plan.examples(), 3);
  EXPECT_EQ(plan.validation_examples(), 2);
  EXPECT_EQ(plan.data().train_zip_size(), 2);
  EXPECT_FALSE(plan.data().has_train_damaged());
  const JobData data = Open(plan);
  EXPECT_EQ(InputOf(*data.train, 0), (std::vector<float>{20, 22, 24}));
  EXPECT_EQ(InputOf(*data.train, 1), (std::vector<float>{0, 0, 1, 10, 2, 20}));
  EXPECT_EQ(LabelsOf(*data.train), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(InputOf(*data.validation, 0), (std::vector<float>{26, 28}));
  EXPECT_EQ(LabelsOf(*data.validation), (std::vector<float>{3, 4}));
}

TEST(JobDataTest, SourcesOfAZipChooseTheirRowsThemselves) {
  const JobData data =
      Open(Planned(ZipPlan(R"({"train": )" +
                           ZipOf(R"(, "pipeline": [{"filter": "u > 0"}, {"take": 3}])",
                                 R"(, "pipeline": [{"skip": 2}])") +
                           "}")));
  EXPECT_EQ(InputOf(*data.train, 0), (std::vector<float>{12, 13, 14}));
  EXPECT_EQ(LabelsOf(*data.train), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(
      InspectJob(
          InspectOf(ZipPlan(R"({"train": )" + ZipOf(R"(, "pipeline": [{"take": 3}])") + "}")), {})
          .error(),
      "job field train: zip[1]: it has 5 examples, zip[0] has 3; each example has a part in "
      "every source. If the first ones belong together, set {\"take\": 3} in the pipeline "
      "of the longer source");
}

// Mean and deviation of the training rows 10, 11, 12 are 11 and sqrt(2 / 3).
TEST(JobDataTest, SourcesOfAZipAreStandardizedByTheTrainingRows) {
  proto::JobPlan plan = Planned(ZipPlan(R"({"train": )" + ZipOf("", R"(, "standardize": true)") +
                                        R"(, "validation_fraction": 0.4})"));
  const auto standardized = [](float value) {
    return static_cast<float>((value - 11) / std::sqrt(2.0 / 3));
  };
  EXPECT_THAT(InputOf(*Open(plan).validation, 0),
              ::testing::Pointwise(::testing::FloatEq(), {standardized(13), standardized(14)}));
  EXPECT_EQ(InputOf(*Open(plan).validation, 1), (std::vector<float>{3, 30, 4, 40}));
  // Other files are standardized alike.
  plan.mutable_job()->clear_validation_fraction();
  proto::DataSource& zip = *plan.mutable_job()->mutable_validation();
  zip = plan.job().train();
  *zip.mutable_zip(1)->mutable_source()->mutable_npy()->mutable_features(0) =
      WriteDataFile("zip_other.npy", NpyBytes("<f4", "(5, 1)", Raw<float>({11, 12, 13, 14, 15})));
  const auto inputs = LoadInputs(plan, **nn::Model::Create(plan.model()), {});
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_FLOAT_EQ(InputOf(**inputs, 0)[1], standardized(12));
  const JobData data = Open(plan);
  EXPECT_FLOAT_EQ(InputOf(*data.validation, 0)[4], standardized(15));
}

TEST(JobDataTest, AnExampleThatIsDamagedInOneSourceOfAZipIsLeftOut) {
  const std::string good = ZipOf(R"(, "skipDamaged": 2)");
  const std::string bad =
      Quoted(WriteDataFile("zip_bad.csv", "u,v,y\n0,0,0\n1,x,1\n2,20,2\n3,30\n4,40,4\n"));
  const std::string zip = [&] {
    std::string text = good;
    const size_t at = text.find("\"files\": [") + 10;
    return text.replace(at, text.find(']', at) - at, bad);
  }();
  const proto::JobPlan plan =
      Planned(ZipPlan(R"({"train": )" + zip + R"(, "validation": )" + zip + "}"));
  EXPECT_EQ(plan.examples(), 3);
  EXPECT_EQ(plan.data().train_damaged().count(), 2);
  EXPECT_THAT(plan.data().train_damaged().first_error(), HasSubstr("zip_bad.csv: line 3"));
  EXPECT_EQ(plan.data().validation_damaged().count(), 2);
  const JobData data = Open(plan);
  for (const auto& each : {data.train, data.validation}) {
    EXPECT_EQ(InputOf(*each, 0), (std::vector<float>{10, 12, 14}));
    EXPECT_EQ(LabelsOf(*each), (std::vector<float>{0, 2, 4}));
  }
}

// Workers open the files of the plan later, and do not find the damaged records again.
TEST(JobDataTest, DamagedRecordsOfAPlannedZipAreThoseOfThePlan) {
  using cairn::testing::ExampleBytes;
  std::vector<std::string> records;
  for (int i = 0; i < 5; ++i) {
    records.push_back(cairn::testing::RecordBytes(
        ExampleBytes({{"u", cairn::testing::FloatsFeature({static_cast<float>(i)})}})));
  }
  records[3][14] ^= 1;
  std::string bytes;
  for (const std::string& record : records) bytes += record;
  const std::string file = Quoted(WriteDataFile("zip.tfrecord", bytes));
  const std::string npy =
      Quoted(WriteDataFile("zip_y.npy", NpyBytes("<f4", "(5, 1)", Raw<float>({0, 1, 2, 3, 4}))));
  const proto::JobPlan plan =
      Planned(LinePlan(R"({"train": {"zip": [{"source": {"tfrecord": {"files": [)" + file +
                       R"(], "features": [{"name": "u"}]}, "skipDamaged": 1}, "inputs": ["in"]},
         {"source": {"npy": {"labels": [)" +
                       npy + R"(]}}, "outputs": ["out"]}]}})"));
  EXPECT_EQ(plan.data().train_zip(0).train_index_size(), 1);
  EXPECT_THAT(plan.data().train_zip(0).train_damaged().places(), ::testing::ElementsAre(3));
  const JobData data = Open(plan);
  EXPECT_EQ(InputsOf(*data.train), (std::vector<float>{0, 1, 2, 4}));
  EXPECT_EQ(LabelsOf(*data.train), (std::vector<float>{0, 1, 2, 4}));
}

TEST(JobDataTest, ValidationStepsKeepTheFirstBatches) {
  proto::JobPlan plan = Planned(LinePlan(TenNumbers(R"(}, "validation_fraction": 0.5)")));
  plan.mutable_job()->set_validation_steps(1);
  plan.set_validation_examples(2);  // As MakeJobPlan does for batches of 2.
  EXPECT_EQ(InputsOf(*Open(plan).validation), (std::vector<float>{5, 6}));
}

TEST(JobDataTest, ValidationDataOfAnotherPlaceHaveItsName) {
  proto::JobPlan plan = CountingPlan({.validation = true});
  plan.mutable_job()->mutable_validation()->mutable_npy()->set_features(0, "/gone.npy");
  const auto data = LoadJobData(plan, *JobModel::Create(plan.job(), plan.model()), {},
                                /*train=*/false, /*validation=*/true, "--data");
  EXPECT_THAT(std::string(data.status().message()),
              ::testing::StartsWith("--data: cannot read data file /gone.npy: "));
}

TEST(JobDataTest, WithoutValidationThereIsNone) {
  const proto::JobPlan plan = CountingPlan({});
  EXPECT_EQ(InspectJob(InspectOf(plan), {}).validation_examples(), 0);
  const auto model = JobModel::Create(plan.job(), plan.model());
  const auto data = LoadJobData(plan, *model, {}, false, true);
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->train, nullptr);
  EXPECT_EQ(data->validation, nullptr);
}

TEST(JobDataTest, AFractionTakesTheLastRowsLikeKeras) {
  const proto::JobPlan plan = Planned(LinePlan(TenNumbers(R"(}, "validation_fraction": 0.25)")));
  // As in Keras, floor(10 * 0.75) rows are for training.
  EXPECT_EQ(plan.examples(), 7);
  EXPECT_EQ(plan.validation_examples(), 3);
  const JobData data = Open(plan);
  EXPECT_EQ(InputsOf(*data.train), (std::vector<float>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(InputsOf(*data.validation), (std::vector<float>{7, 8, 9}));
}

TEST(JobDataTest, ARandomFractionIsDisjointAndTheSeedsAlone) {
  const std::string text =
      TenNumbers(R"(}, "validation_fraction": 0.3, "validation_choice": "random", "seed": )");
  const auto parts = [&](const std::string& seed) {
    std::string job = text;
    job.replace(job.size() - 1, 1, seed + "}");
    const proto::JobPlan plan = Planned(LinePlan(job));
    const JobData data = Open(plan);
    return std::make_pair(InputsOf(*data.train), InputsOf(*data.validation));
  };
  const auto one = parts("1");
  EXPECT_EQ(one, parts("1"));
  EXPECT_NE(one.second, parts("2").second);
  std::vector<float> all = one.first;
  all.insert(all.end(), one.second.begin(), one.second.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(JobDataTest, StatisticsAreOfTheTrainingRowsAndHoldForValidationToo) {
  const proto::JobPlan plan =
      Planned(LinePlan(TenNumbers(R"(, "standardize": true}, "validation_fraction": 0.5)")));
  ASSERT_EQ(plan.data().inputs_size(), 1);
  EXPECT_EQ(plan.data().inputs(0).mean(0), 2);
  EXPECT_DOUBLE_EQ(plan.data().inputs(0).deviation(0), std::sqrt(2.0));
  const JobData data = Open(plan);
  EXPECT_EQ(InputsOf(*data.train)[0], static_cast<float>(-2 * (1 / std::sqrt(2.0))));
  EXPECT_EQ(InputsOf(*data.validation)[0], static_cast<float>(3 * (1 / std::sqrt(2.0))));
}

// Two inputs: a has the numbers 0 to 9, and b those from 100 to 109.
proto::JobPlan TwoInputsPlan(const std::string& steps, const std::string& validation_steps) {
  const auto write = [](const char* name, float first) {
    std::vector<float> numbers(10);
    std::iota(numbers.begin(), numbers.end(), first);
    return Quoted(WriteDataFile(name, NpyBytes("<f4", "(10, 1)", Raw(numbers))));
  };
  const std::string a = write("a.npy", 0);
  const std::string b = write("b.npy", 100);
  const auto with = [&](const std::string& list) {
    return R"({"npy": {"features": [)" + a + ", " + b + R"(], "labels": [)" + a +
           R"(]}, "pipeline": [)" + list + "]}";
  };
  proto::JobPlan plan = LinePlan(R"({"train": )" + with(steps) + R"(, "validation": )" +
                                 with(validation_steps) + "}");
  *plan.mutable_model() = nn::testing::SpecOf({{"a", "InputLayer", R"({"batch_shape": [null, 1]})"},
                                               {"b", "InputLayer", R"({"batch_shape": [null, 1]})"},
                                               {"both", "Concatenate", "{}", {"a", "b"}},
                                               {"out", "Dense", R"({"units": 1})", {"both"}}});
  return plan;
}

TEST(JobDataTest, ANormalizedInputLeavesTheOtherInputsAndSourcesAsTheyAre) {
  const JobData data =
      Open(Planned(TwoInputsPlan(R"({"normalize": {}, "input": "a"})", R"({"cast": "float32"})")));
  const auto first = [](const Dataset& examples, int input) {
    float value = -1;
    EXPECT_TRUE(examples.ReadInput(input, {0}, &value).ok());
    return value;
  };
  // The numbers 0 to 9 have the mean 4.5 and the variance 8.25.
  EXPECT_FLOAT_EQ(first(*data.train, 0), static_cast<float>(-4.5 / std::sqrt(8.25)));
  EXPECT_EQ(first(*data.train, 1), 100);
  EXPECT_EQ(first(*data.validation, 0), 0);
  EXPECT_EQ(first(*data.validation, 1), 100);
}

TEST(JobDataTest, ValidationTakesStatisticsOnlyOfInputsThatTrainingMeasures) {
  const proto::JobPlan plan =
      TwoInputsPlan(R"({"normalize": {}, "input": "a"})", R"({"normalize": {}, "input": "b"})");
  EXPECT_THAT(InspectJob(InspectOf(plan), {}).error(),
              ::testing::MatchesRegex("job field validation.npy: data file .*b.npy: pipeline "
                                      "step \"normalize\" has no numbers, and the training data .*"
                                      "at the input 'b'; give .*"));
}

TEST(JobDataTest, CsvMeansAndVocabulariesOfTrainingHoldForValidation) {
  const std::string train = WriteDataFile("t.csv", "x,y\n1,a\n,b\n3,a\n");
  const std::string validation = WriteDataFile("v.csv", "y,x\nb,\na,5\n");
  proto::JobPlan plan = LinePlan(R"({"train": {"csv": {"files": [)" + Quoted(train) + R"(],
      "features": [{"name": "x", "missing": {"name": "mean"}}],
      "labels": [{"name": "y", "categorical": true}]}},
      "validation": {"csv": {"files": [)" +
                                 Quoted(validation) + "]}}}");
  plan = Planned(plan);
  const JobData data = Open(plan);
  EXPECT_EQ(InputsOf(*data.train), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(InputsOf(*data.validation), (std::vector<float>{2, 5}));
  float labels[2];
  ASSERT_TRUE(data.validation->ReadLabels(0, {0, 1}, labels).ok());
  EXPECT_EQ(labels[0], 1);
  EXPECT_EQ(labels[1], 0);
}

// One of the names is Latin-1.
TEST(JobDataTest, CsvColumnsThatTheJobDoesNotNameKeepTheOrderOfTraining) {
  const std::string train = WriteDataFile("order_t.csv", "a,\xE4,y\n1,2,0\n");
  const std::string validation = WriteDataFile("order_v.csv", "y,\xE4,a\n0,4,3\n");
  proto::JobPlan plan = LinePlan(R"({"train": {"csv": {"files": [)" + Quoted(train) + R"(],
      "labels": [{"name": "y"}]}}, "validation": {"csv": {"files": [)" +
                                 Quoted(validation) + "]}}}");
  *plan.mutable_model() = nn::testing::SpecOf(
      {{"in", "InputLayer", R"({"batch_shape": [null, 2]})"}, {"out", "Dense", R"({"units": 1})"}});
  proto::JobPlan sent;
  ASSERT_TRUE(sent.ParseFromString(Planned(plan).SerializeAsString()));
  const JobData data = Open(sent);
  float values[2];
  ASSERT_TRUE(data.validation->ReadInput(0, {0}, values).ok());
  EXPECT_EQ(values[0], 3);
  EXPECT_EQ(values[1], 4);
}

}  // namespace
}  // namespace cairn::worker
