#include "job/data_formats/images_format.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"

namespace cairn::job {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

proto::DataSource Source() {
  proto::DataSource source;
  source.mutable_images()->add_directory("train");
  return source;
}

std::string Check(const proto::DataSource& source) {
  return std::string(ImagesFormat().check("images", source, {}).message());
}

TEST(ImagesFormatTest, FieldsAreChecked) {
  proto::DataSource source = Source();
  proto::ImagesSource& images = *source.mutable_images();
  EXPECT_EQ(Check(source), "");
  images.add_image_size(0);
  EXPECT_EQ(Check(source), "images.image_size: 0 is not from 1 to 65536");
  images.mutable_image_size()->Resize(3, 5);
  EXPECT_THAT(Check(source), HasSubstr("images.image_size: has 3 numbers"));
  images.clear_image_size();
  images.add_class_names("a/b");
  EXPECT_EQ(Check(source), "images.class_names: \"a/b\" is not the name of a folder");
  images.set_class_names(0, "a");
  images.add_class_names("a");
  EXPECT_THAT(Check(source), HasSubstr("images.class_names: \"a\" appears twice"));
  images.clear_class_names();
  images.set_color_mode("bgr");
  EXPECT_EQ(Check(source), "images.color_mode: \"bgr\" is not one of grayscale, rgb, rgba");
  images.set_color_mode("rgb");
  images.set_interpolation("best");
  EXPECT_THAT(Check(source), HasSubstr("images.interpolation: \"best\" is not one of bilinear, "));
  images.set_interpolation("nearest");
  images.set_crop_to_aspect_ratio(true);
  images.set_pad_to_aspect_ratio(true);
  EXPECT_THAT(Check(source), HasSubstr("conflicts with \"crop_to_aspect_ratio\""));
}

std::unique_ptr<nn::Model> Model(const std::string& shape) {
  return nn::testing::ModelOf({{"in", "InputLayer", R"({"batch_shape": [null, )" + shape + "]}"},
                               {"flat", "Flatten", "{}"},
                               {"out", "Dense", R"({"units": 3})"}});
}

std::string CheckModel(const proto::DataSource& source, const nn::Model& model) {
  return std::string(ImagesFormat().check_model("images", source, model).message());
}

TEST(ImagesFormatTest, TheModelTakesImages) {
  const proto::DataSource source = Source();
  for (const char* const shape : {"5, 7, 1", "5, 7, 3", "5, 7, 4", "5, 7"}) {
    EXPECT_EQ(CheckModel(source, *Model(shape)), "") << shape;
  }
  EXPECT_EQ(ImageFormOf({5, 7})->channels, 1);
  for (const char* const shape : {"5", "5, 7, 2", "1, 5, 7, 3", "65537, 1, 1"}) {
    EXPECT_THAT(CheckModel(source, *Model(shape)), HasSubstr("images have a height, a width"));
  }
}

TEST(ImagesFormatTest, SizeAndColorsAreThoseOfTheModel) {
  const auto model = Model("5, 7, 3");
  proto::DataSource source = Source();
  proto::ImagesSource& images = *source.mutable_images();
  images.add_image_size(5);
  EXPECT_THAT(CheckModel(source, *model), HasSubstr("images.image_size: 5 x 5, the model's"));
  images.add_image_size(7);
  images.set_color_mode("rgb");
  EXPECT_EQ(CheckModel(source, *model), "");
  images.set_color_mode("grayscale");
  EXPECT_THAT(CheckModel(source, *model),
              HasSubstr("images.color_mode: \"grayscale\" has 1 channel, the model's input 'in' "
                        "takes 3"));
}

TEST(ImagesFormatTest, AResizeThatIsTheFirstStepSaysHowImagesAreDecoded) {
  const auto model = Model("5, 7, 3");
  proto::DataSource source = Source();
  proto::ImagesSource& images = *source.mutable_images();
  source.add_pipeline()->mutable_resize()->add_size(9);
  source.add_pipeline()->mutable_crop()->add_size(5);
  source.mutable_pipeline(1)->mutable_crop()->add_size(7);
  EXPECT_EQ(CheckModel(source, *model), "");
  const auto error_of = [](const std::string& field) {
    return "images." + field +
           ": has no effect, because the pipeline begins with \"resize\"; set it in that step, or "
           "set \"image_size\"";
  };
  images.set_interpolation("nearest");
  EXPECT_EQ(CheckModel(source, *model), error_of("interpolation"));
  images.set_pad_to_aspect_ratio(true);
  EXPECT_EQ(CheckModel(source, *model), error_of("pad_to_aspect_ratio"));
  images.set_pad_to_aspect_ratio(false);
  images.set_crop_to_aspect_ratio(true);
  EXPECT_EQ(CheckModel(source, *model), error_of("crop_to_aspect_ratio"));
  // They have their effect at the first of the two sizes.
  images.add_image_size(20);
  EXPECT_EQ(CheckModel(source, *model), "");
  images.clear_image_size();
  source.mutable_pipeline()->DeleteSubrange(0, 2);
  EXPECT_EQ(CheckModel(source, *model), "");
}

TEST(ImagesFormatTest, ValidationInheritsWhatItDoesNotSet) {
  proto::DataSource train = Source();
  train.mutable_images()->add_class_names("a");
  train.mutable_images()->set_interpolation("nearest");
  train.mutable_images()->set_crop_to_aspect_ratio(true);
  proto::DataSource validation;
  validation.mutable_images()->add_directory("test");
  validation.mutable_images()->set_pad_to_aspect_ratio(true);
  ImagesFormat().inherit(train, &validation);
  const proto::ImagesSource& images = validation.images();
  EXPECT_THAT(images.directory(), ElementsAre("test"));
  EXPECT_THAT(images.class_names(), ElementsAre("a"));
  EXPECT_EQ(images.interpolation(), "nearest");
  EXPECT_TRUE(images.pad_to_aspect_ratio());
  EXPECT_FALSE(images.crop_to_aspect_ratio());
}

}  // namespace
}  // namespace cairn::job
