#include "worker/data/text/text_source.h"

#include <google/protobuf/util/json_util.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"
#include "tests/worker/data/data_files.h"
#include "worker/data/files/read_at.h"
#include "worker/data/source_arrays.h"

namespace cairn::worker {
namespace {

using cairn::testing::Gzip;
using cairn::testing::WriteDataFile;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class TextSourceTest : public ::testing::Test {
 protected:
  TextSourceTest()
      : model_(nn::testing::ModelOf({{"in", "InputLayer", R"({"batch_shape": [null, 3]})"},
                                     {"out", "Dense", R"({"units": 9})"}})) {
    fs::remove_all(root_);
  }

  void Add(const std::string& name, const std::string& text) {
    const fs::path path = root_ + "/" + name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }

  // Inspects a source and reads it: "label: ids" of each example, or the error.
  std::string Read(const std::string& json, bool with_labels = true,
                   const ChooseTrainingRows& choose = {}) {
    proto::DataSource source;
    EXPECT_TRUE(
        google::protobuf::util::JsonStringToMessage(R"({"text": )" + json + "}", &source).ok())
        << json;
    if (with_labels) plan_.Clear();
    const auto files = ListFiles(source, *model_, with_labels);
    if (!files.ok()) return std::string(files.status().message());
    if (with_labels) {
      const absl::Status status = InspectAlone(source, *files, choose, &plan_);
      if (!status.ok()) return std::string(status.message());
    }
    std::vector<LabelSpec> labels;
    if (with_labels) labels = {{.type = proto::INT32, .least = 0, .most = 8}};
    const auto arrays = ReadText({source, *files, plan_, *model_, labels, &storage_});
    if (!arrays.ok()) return std::string(arrays.status().message());
    EXPECT_EQ(ReadAsPlanned(source, *files, labels, arrays->index), TextOf(*arrays));
    return TextOf(*arrays);
  }

  // Reads a source whose files are opened when their examples are used.
  std::string ReadAsPlanned(const proto::DataSource& source, const SourceFiles& files,
                            const std::vector<LabelSpec>& labels,
                            const std::vector<proto::IndexedFile>& index) {
    PlannedFiles planned;
    planned.index = index;
    planned.storage = std::make_shared<DataStorage>(DataStorage::Options());
    const auto fingerprints = FingerprintFiles(files);
    if (!fingerprints.ok()) return std::string(fingerprints.status().message());
    planned.fingerprints = *fingerprints;
    const uint64_t opened = FilesOpened();
    const auto arrays = ReadText({source, files, plan_, *model_, labels, &storage_, &planned});
    if (!arrays.ok()) return std::string(arrays.status().message());
    EXPECT_EQ(FilesOpened(), opened);
    return TextOf(*arrays);
  }

  static std::string TextOf(const SourceArrays& arrays) {
    std::vector<std::string> rows(arrays.inputs[0].rows());
    const auto add = [&](const Array& array) {
      EXPECT_TRUE(array
                      .ForEachRow([&](int64_t row, const char* bytes) {
                        std::vector<double> values(array.elements());
                        array.RowToDoubles(bytes, values.data());
                        for (const double value : values) {
                          rows[row] += std::to_string(static_cast<int>(value)) + " ";
                        }
                        return absl::OkStatus();
                      })
                      .ok());
    };
    if (!arrays.labels.empty()) add(arrays.labels[0]);
    for (std::string& row : rows) row += ": ";
    add(arrays.inputs[0]);
    std::string text;
    for (const std::string& row : rows) text += row + "; ";
    return text;
  }

  std::unique_ptr<nn::Model> model_;
  proto::DataPlan plan_;
  DataStorage storage_{{}};
  static inline const std::string root_ = ::testing::TempDir() + "/texts";
};

TEST_F(TextSourceTest, ALineIsAnExample) {
  const std::string lines = WriteDataFile(
      "lines.txt", "\xef\xbb\xbfpos\tA cat, a Cat!\r\n\nneg\tno\tcat dog bird a\npos\tno");
  // Tokens: a (3), cat (3), no (2) ... in the order of Keras: cat, a, no, dog, bird.
  EXPECT_EQ(Read(R"({"files": [")" + lines + R"("]})"), "1 : 3 2 3 ; 0 : 4 2 5 ; 1 : 4 0 0 ; ");
  // An empty file has no lines.
  const std::string empty = WriteDataFile("empty.txt", "");
  EXPECT_EQ(Read(R"({"files": [")" + empty + R"(", ")" + lines + R"("]})"),
            "1 : 3 2 3 ; 0 : 4 2 5 ; 1 : 4 0 0 ; ");
  const std::string last = WriteDataFile("last.txt.gz", Gzip("a b, c,x\nb,y\n"));
  EXPECT_EQ(Read(R"({"files": [")" + last + R"("], "delimiter": ",", "label": "last",
                    "classNames": ["y", "x"], "textVectorization": {"maxTokens": 3}})"),
            "1 : 1 2 1 ; 0 : 2 0 0 ; ");
  // Without labels lines may have some.
  const std::string texts = WriteDataFile("texts.txt", "b c\nb,y\n");
  EXPECT_EQ(Read(R"({"files": [")" + texts + R"("], "delimiter": ",", "label": "last",
                    "textVectorization": {"maxTokens": 3}})",
                 false),
            ": 2 1 0 ; : 2 0 0 ; ");
}

TEST_F(TextSourceTest, AFileOfAClassIsAnExample) {
  Add("pos/2.txt", "good\ngood film");
  Add("pos/1.txt", "");
  Add("neg/x/3.txt", "bad film");
  Add("neg/ignored.csv", "bad");
  const std::string source = R"({"directory": [")" + root_ + R"("]})";
  // good (2) and film (2), bad (1).
  EXPECT_EQ(Read(source), "0 : 4 3 0 ; 1 : 0 0 0 ; 1 : 2 2 3 ; ");
  EXPECT_EQ(Read(source, false), ": 4 3 0 ; : 0 0 0 ; : 2 2 3 ; ");
  EXPECT_EQ(Read(R"({"directory": [")" + root_ + R"("], "classNames": ["pos"]})"),
            "0 : 0 0 0 ; 0 : 2 2 3 ; ");
}

// One hundred at a time.
TEST_F(TextSourceTest, OnlyTheFilesNearTheOnesThatAreUsedAreRead) {
  for (int i = 0; i < 250; ++i) Add("pos/" + std::to_string(1000 + i) + ".txt", "word");
  proto::DataSource source;
  source.mutable_text()->add_directory(root_);
  source.mutable_text()->add_class_names("pos");
  source.mutable_text()->mutable_text_vectorization()->add_vocabulary("word");
  const SourceFiles files = *ListFiles(source, *model_, true);
  const std::vector<LabelSpec> labels = {{.type = proto::INT32, .least = 0, .most = 8}};
  const auto found = SurveyText({source, files, plan_, *model_, labels, &storage_});
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->index.size(), 250u);
  PlannedFiles planned;
  planned.index = found->index;
  planned.storage = std::make_shared<DataStorage>(DataStorage::Options());
  planned.fingerprints = *FingerprintFiles(files);
  const auto arrays = ReadText({source, files, plan_, *model_, labels, &storage_, &planned});
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  ASSERT_EQ(arrays->inputs[0].rows(), 250);
  const auto read = [&](int64_t row) {
    const uint64_t opened = FilesOpened();
    std::string scratch;
    EXPECT_TRUE(arrays->inputs[0].Row(row, &scratch).ok());
    EXPECT_TRUE(arrays->labels[0].Row(row, &scratch).ok());
    return FilesOpened() - opened;
  };
  EXPECT_EQ(read(249), 2u * 50) << "for its fingerprint, and for the text";
  EXPECT_EQ(read(210), 0u);
  EXPECT_EQ(read(0), 2u * 100);
}

TEST_F(TextSourceTest, TokensAreThoseOfTheTrainingRows) {
  const std::string one = WriteDataFile("split1.txt", "pos\ta a\nneg\tb b b\n");
  const std::string two = WriteDataFile("split2.txt", "\npos\tc\nother\td d d d\n");
  const auto choose = [](int64_t rows,
                         const std::vector<int32_t>& /*passed*/) -> absl::StatusOr<IsTrainingRow> {
    EXPECT_EQ(rows, 4);
    return [](int64_t row) { return row == 0 || row == 2; };
  };
  // Classes are those of all rows: neg, other, pos.
  EXPECT_EQ(Read(R"({"files": [")" + one + R"(", ")" + two + R"("]})", true, choose),
            "2 : 2 2 0 ; 0 : 1 1 1 ; 2 : 3 0 0 ; 1 : 1 1 1 ; ");
  Add("neg/1.txt", "b b");
  Add("pos/1.txt", "a");
  const auto first = [](int64_t rows,
                        const std::vector<int32_t>& /*passed*/) -> absl::StatusOr<IsTrainingRow> {
    EXPECT_EQ(rows, 2);
    return [](int64_t row) { return row == 1; };
  };
  EXPECT_EQ(Read(R"({"directory": [")" + root_ + R"("]})", true, first),
            "0 : 1 1 0 ; 1 : 2 0 0 ; ");
}

TEST_F(TextSourceTest, OnlyKnownLabelsAreRemovedWhenNoneAreNeeded) {
  const std::string lines = WriteDataFile("known.txt", "pos,a b\nneg,c\n");
  const std::string source = R"(], "delimiter": ","})";
  EXPECT_EQ(Read(R"({"files": [")" + lines + '"' + source), "1 : 4 3 0 ; 0 : 2 0 0 ; ");
  // A comma of the text ends no label.
  const std::string texts = WriteDataFile("unknown.txt", "a ,b\npos,a b\na b\n");
  EXPECT_EQ(Read(R"({"files": [")" + texts + '"' + source, false),
            ": 4 3 0 ; : 4 3 0 ; : 4 3 0 ; ");
}

TEST_F(TextSourceTest, AnInspectionEndsWhenTheNamesAreTooLarge) {
  std::string many;
  for (int i = 0; i < 120000; ++i) many += std::to_string(1000000 + i) + "\ta\n";
  // The last line is not reached.
  const std::string labels = WriteDataFile("many_labels.txt", many + "no tab\n");
  EXPECT_THAT(Read(R"({"files": [")" + labels + R"("]})"),
              HasSubstr("names or more: the job's vocabularies are larger than 1024 KiB; is "
                        "\"label\" or \"delimiter\" another one?"));
  many.clear();
  for (int i = 0; i < 120000; ++i) many += "a\t" + std::to_string(1000000 + i) + "\n";
  const std::string tokens = WriteDataFile("many_tokens.txt", many + "no tab\n");
  EXPECT_THAT(Read(R"({"files": [")" + tokens + R"("]})"), HasSubstr("KiB; set \"max_tokens\""));
  const std::string cut = WriteDataFile("cut_tokens.txt", many);
  EXPECT_THAT(Read(R"({"files": [")" + cut + R"("], "textVectorization": {"maxTokens": 3}})"),
              HasSubstr("0 : 2 0 0 ; "));
}

TEST_F(TextSourceTest, LabelsThatAreNumbersAreInTheirOrder) {
  const std::string lines = WriteDataFile("numbers.txt", "10\ta\n9\ta\n2\ta\n");
  EXPECT_EQ(Read(R"({"files": [")" + lines + R"("]})"), "2 : 2 0 0 ; 1 : 2 0 0 ; 0 : 2 0 0 ; ");
}

TEST_F(TextSourceTest, MistakesAreNamedWithTheirLine) {
  const std::string lines = WriteDataFile("bad.txt", "pos\ta\n\nno delimiter\n");
  EXPECT_THAT(Read(R"({"files": [")" + lines + R"("]})"),
              HasSubstr("bad.txt, line 3: it has no tab between the label and the text"));
  const std::string other = WriteDataFile("other.txt", "pos\ta\nneg\tb\n");
  EXPECT_THAT(Read(R"({"files": [")" + other + R"("], "classNames": ["pos"]})"),
              HasSubstr("other.txt, line 2: feature \"label\" has the value \"neg\", which is not "
                        "in its vocabulary; add it"));
  const std::string blank = WriteDataFile("blank.txt", "\n\n");
  EXPECT_THAT(Read(R"({"files": [")" + blank + R"("]})"), HasSubstr("it has no texts"));
  EXPECT_THAT(
      Read(R"({"files": [")" + other + R"("], "textVectorization": {"outputSequenceLength": 4}})"),
      HasSubstr("takes 3 values per example, the features have 4"));
  const std::string long_line = WriteDataFile("long.txt", std::string(66 << 20, 'a'));
  EXPECT_THAT(Read(R"({"files": [")" + long_line + R"("]})"),
              HasSubstr("line 1 has more than 64 MiB"));
}

// The numbers of sound texts are those without the damaged ones before them.
TEST_F(TextSourceTest, WithSkippedTextsTheTokensAreThoseOfAllRows) {
  const std::string lines = WriteDataFile("skipped.txt", "x\ta\nx\t\xe9\ny\tb b\ny\tc c c\n");
  const auto choose = [](int64_t /*rows*/,
                         const std::vector<int32_t>& /*passed*/) -> absl::StatusOr<IsTrainingRow> {
    return [](int64_t row) { return row < 2; };
  };
  // c (3), b (2), a (1).
  EXPECT_EQ(Read(R"({"files": [")" + lines + R"("]}, "skipDamaged": 1)", true, choose),
            "0 : 4 0 0 ; 1 : 3 3 0 ; 1 : 2 2 2 ; ");
}

TEST_F(TextSourceTest, DamagedTextsAreSkippedUpToTheLimit) {
  const std::string words = R"(, "textVectorization": {"vocabulary": ["a", "b", "c"]}})";
  const auto read = [&](const std::string& files, int allowed) {
    return Read(R"({)" + files + words + R"(, "skipDamaged": )" + std::to_string(allowed));
  };
  // The second line is Latin-1, the third has no label, the last one is longer than 64 MiB.
  const std::string lines = "x\ta b\nx\t\xe9\nno label\ny\tc\n";
  const std::string path = WriteDataFile("lines.txt", lines);
  const std::string files = R"("files": [")" + path + R"("])";
  EXPECT_EQ(read(files, 2), "0 : 2 3 0 ; 1 : 4 0 0 ; ");
  EXPECT_THAT(read(files, 1), HasSubstr("2 damaged texts, \"skip_damaged\" allows 1; the first: "
                                        "data file " +
                                        path + ", line 2: it is not UTF-8"));
  EXPECT_THAT(read(files, 0), HasSubstr("line 3: it has no tab"));
  WriteDataFile("lines.txt", "x\ta\ny\t" + std::string(66 << 20, 'b') + "\ny\tc\n");
  EXPECT_EQ(read(files, 1), "0 : 2 0 0 ; 1 : 4 0 0 ; ");
  EXPECT_THAT(read(files, 0), HasSubstr("line 2 has more than 64 MiB"));
  Add("x/1.txt", "a");
  Add("x/2.txt", "\xff");
  Add("y/3.txt", "b");
  EXPECT_EQ(read(R"("directory": [")" + root_ + R"("])", 1), "0 : 2 0 0 ; 1 : 3 0 0 ; ");
}

}  // namespace
}  // namespace cairn::worker
