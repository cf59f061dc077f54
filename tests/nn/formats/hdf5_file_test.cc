#include "nn/formats/hdf5_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/nn/formats/testdata.h"

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Files that h5py wrote; they are also the seeds of the fuzz test.
std::string Written(const std::string& name) {
  return ReadFile("tests/fuzz/corpus/hdf5_file/" + name);
}

TEST(Hdf5FileTest, ReadsDataSetsAndAttributesOfH5py) {
  const std::string bytes = Written("small");
  const auto file = Hdf5File::Open(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->DataSets(),
              ElementsAre("compact", "layers/dense/vars/0", "layers/dense/vars/1", "scalar"));
  const NamedTensor kernel = file->Read("layers/dense/vars/0").value();
  EXPECT_THAT(kernel.shape, ElementsAre(2, 3));
  EXPECT_THAT(kernel.values, ElementsAre(0, 1, 2, 3, 4, 5));
  // Of float16, and of float64.
  EXPECT_THAT(file->Read("layers/dense/vars/1")->values, ElementsAre(0, 1, 2));
  EXPECT_THAT(file->Read("scalar")->values, ElementsAre(2.5));
  EXPECT_THAT(file->Strings("", "model_config").value(),
              ElementsAre(R"({"class_name": "Sequential"})"));
  EXPECT_THAT(file->Strings("layers/dense", "weight_names").value(),
              ElementsAre("a/kernel:0", "a/bias:0"));
  EXPECT_THAT(file->Strings("layers/dense", "fixed").value(), ElementsAre("abc", "de"));
  EXPECT_THAT(file->Strings("", "none").value(), IsEmpty());
  EXPECT_FALSE(file->Read("layers").ok());
  EXPECT_FALSE(file->Read("nothing").ok());
}

std::string Refusal(const std::string& name) {
  const std::string bytes = Written(name);
  const auto file = Hdf5File::Open(bytes);
  return std::string(file.ok() ? file->Read("c").status().message() : file.status().message());
}

TEST(Hdf5FileTest, RefusesByName) {
  EXPECT_EQ(Refusal("bad_soft_link"), "HDF5 file: b is a link");
  EXPECT_EQ(Refusal("bad_hard_link"), "HDF5 file: a/c is a link to a");
  EXPECT_EQ(Refusal("bad_external"), "HDF5 file: c is stored in another file");
  EXPECT_EQ(Refusal("bad_chunks"), "HDF5 file: c is compressed");
  EXPECT_THAT(Refusal("bad_latest"), HasSubstr("write it with h5py's default"));
  EXPECT_EQ(Hdf5File::Open("PK").status().message(), "not an HDF5 file");
}

TEST(Hdf5FileTest, ASizeIsCheckedBeforeItIsUsed) {
  std::string bytes = Written("small");
  // The first dimension of the kernel, (2, 3).
  const std::string shape("\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 16);
  const size_t place = bytes.find(shape);
  ASSERT_NE(place, std::string::npos);
  for (const int64_t size : {int64_t{3}, int64_t{1} << 40, int64_t{1} << 62, int64_t{-1}}) {
    std::memcpy(bytes.data() + place, &size, sizeof(size));
    const auto file = Hdf5File::Open(bytes);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_THAT(std::string(file->Read("layers/dense/vars/0").status().message()),
                HasSubstr("damaged HDF5 file: layers/dense/vars/0"));
  }
}

TEST(Hdf5FileTest, ATruncatedFileIsRefused) {
  const std::string bytes = Written("small");
  for (size_t size = 0; size < 2000; size += 7) {
    EXPECT_FALSE(Hdf5File::Open(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
}

}  // namespace
}  // namespace cairn::nn
