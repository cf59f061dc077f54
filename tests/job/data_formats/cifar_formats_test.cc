#include "job/data_formats/cifar_formats.h"

#include "gtest/gtest.h"

namespace cairn::job {
namespace {

TEST(CifarFormatsTest, ValidationHasTheLabelsOfTraining) {
  proto::DataSource train;
  proto::DataSource validation;
  train.mutable_cifar100()->set_labels("coarse");
  validation.mutable_cifar100();
  Cifar100Format().inherit(train, &validation);
  EXPECT_EQ(validation.cifar100().labels(), "coarse");
  validation.mutable_cifar100()->set_labels("fine");
  Cifar100Format().inherit(train, &validation);
  EXPECT_EQ(validation.cifar100().labels(), "fine");
}

TEST(CifarFormatsTest, LabelsAreFineOrCoarse) {
  proto::DataSource source;
  source.mutable_cifar100();
  EXPECT_TRUE(Cifar100Format().check("c", source, {}).ok());
  source.mutable_cifar100()->set_labels("rough");
  EXPECT_EQ(Cifar100Format().check("c", source, {}).message(),
            "c.labels: \"rough\" is not one of fine, coarse");
}

}  // namespace
}  // namespace cairn::job
