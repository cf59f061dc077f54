#include "worker/data/npz_file.h"

#include <zip.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::NpyBytes;
using cairn::testing::Raw;
using cairn::testing::WriteDataFile;
using ::testing::HasSubstr;

struct Entry {
  std::string name;
  std::string contents;
};

std::string WriteNpz(const std::string& name, const std::vector<Entry>& members, int32_t method) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::filesystem::remove(path);
  zip_t* const archive = zip_open(path.c_str(), ZIP_CREATE, nullptr);
  for (const Entry& member : members) {
    zip_source_t* const source =
        zip_source_buffer(archive, member.contents.data(), member.contents.size(), 0);
    const zip_int64_t index = zip_file_add(archive, member.name.c_str(), source, 0);
    zip_set_file_compression(archive, index, method, 0);
  }
  EXPECT_EQ(zip_close(archive), 0);
  return path;
}

std::vector<Entry> Arrays() {
  return {{"x.npy", NpyBytes("<f4", "(2, 2)", Raw<float>({1, 2, 3, 4}))},
          {"y.npy", NpyBytes("<i8", "(2,)", Raw<int64_t>({5, 6}))}};
}

absl::StatusOr<std::vector<Array>> Read(const std::string& path,
                                        const std::vector<std::string>& names,
                                        uint64_t memory = 1 << 20) {
  DataStorage storage({.memory_bytes = memory});
  return ReadNpzArrays(path, names, &storage);
}

std::string Error(const std::string& path, const std::string& name) {
  return std::string(Read(path, {name}).status().message());
}

std::vector<float> Values(const Array& array) {
  std::vector<float> values(array.rows() * array.elements());
  EXPECT_TRUE(array
                  .ForEachRow([&](int64_t row, const char* bytes) {
                    array.RowToFloats(bytes, 1, values.data() + row * array.elements());
                    return absl::OkStatus();
                  })
                  .ok());
  return values;
}

TEST(NpzFileTest, NamedArraysAreReadStoredAndDeflatedInMemoryAndOnDisk) {
  for (const int32_t method : {ZIP_CM_STORE, ZIP_CM_DEFLATE}) {
    const std::string path = WriteNpz("good.npz", Arrays(), method);
    for (const uint64_t memory : {uint64_t{0}, uint64_t{1} << 20}) {
      const auto arrays = Read(path, {"y", "x.npy", "y"}, memory);
      ASSERT_TRUE(arrays.ok()) << arrays.status();
      ASSERT_EQ(arrays->size(), 3u);
      EXPECT_EQ(Values((*arrays)[0]), (std::vector<float>{5, 6}));
      EXPECT_EQ(Values((*arrays)[1]), (std::vector<float>{1, 2, 3, 4}));
      EXPECT_EQ((*arrays)[1].in_memory(), memory > 0);
    }
  }
}

TEST(NpzFileTest, AMissingArrayIsNamedWithThoseOfTheFile) {
  const std::string path = WriteNpz("good.npz", Arrays(), ZIP_CM_STORE);
  EXPECT_EQ(Error(path, "z"), "data file " + path + ": it has no array \"z\"; it has x, y");
}

TEST(NpzFileTest, OtherFilesAndOtherMembersAreRefused) {
  EXPECT_THAT(Error(WriteDataFile("text.npz", "not a zip archive"), "x"),
              HasSubstr("text.npz: not a .npz file: it is no zip archive"));
  EXPECT_THAT(Error(::testing::TempDir() + "/none.npz", "x"), HasSubstr("No such file"));
  EXPECT_THAT(Error(WriteNpz("other.npz", {{"x.npy", "\x80\x04pickle"}}, ZIP_CM_STORE), "x"),
              HasSubstr("other.npz, array x: "));
  const std::string bzip2 = WriteNpz("bzip2.npz", Arrays(), ZIP_CM_BZIP2);
  EXPECT_THAT(Error(bzip2, "x"), HasSubstr("it is compressed by method 12"));
}

TEST(NpzFileTest, DamagedContentsAreFoundByTheirChecksum) {
  const std::string path = WriteNpz("damaged.npz", Arrays(), ZIP_CM_STORE);
  FILE* const file = fopen(path.c_str(), "r+b");
  // In the elements of x, behind two headers.
  fseek(file, 30 + 5 + 128 + 3, SEEK_SET);
  fputc('!', file);
  fclose(file);
  const absl::Status status = Read(path, {"x"}).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the zip archive is damaged"));
}

}  // namespace
}  // namespace cairn::worker
