#include "nn/formats/hdf5_writer.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "nn/formats/hdf5_file.h"

namespace cairn::nn {
namespace {

TEST(Hdf5WriterTest, WhatIsWrittenReadsAsTheSame) {
  const NamedTensor kernel = {"k", {2, 3}, {1, 2, 3, 4, 5, 6}};
  const NamedTensor scalar = {"s", {}, {-1}};
  const std::string bytes =
      WriteHdf5({{"layers/dense/vars/0", &kernel}, {"layers/dense/vars/1", &scalar}});
  const auto file = Hdf5File::Open(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto read = file->Read("layers/dense/vars/0");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->shape, kernel.shape);
  EXPECT_EQ(read->values, kernel.values);
  EXPECT_EQ(file->Read("layers/dense/vars/1")->values, scalar.values);
  EXPECT_EQ(file->DataSets().size(), 2);
}

// Groups of one leaf, of one node, and of nodes below another one.
TEST(Hdf5WriterTest, GroupsOfAllSizesReadAsTheSame) {
  for (const int count : {0, 1, 8, 9, 256, 257, 3000}) {
    std::vector<NamedTensor> tensors;
    for (int i = 0; i < count; ++i) tensors.push_back({"", {1}, {static_cast<float>(i)}});
    std::vector<Hdf5DataSet> data_sets;
    for (int i = 0; i < count; ++i) data_sets.push_back({absl::StrCat("group/", i), &tensors[i]});
    const std::string bytes = WriteHdf5(data_sets);
    const auto file = Hdf5File::Open(bytes);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_EQ(file->DataSets().size(), count);
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(file->Read(absl::StrCat("group/", i))->values, tensors[i].values);
    }
  }
}

}  // namespace
}  // namespace cairn::nn
