#ifndef CAIRN_WORKER_DATA_IMAGES_IMAGE_SOURCE_H_
#define CAIRN_WORKER_DATA_IMAGES_IMAGE_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/data/data_reader.h"

namespace cairn::worker {

// Reads a source of folders of images. A row is the image of a file, resized to the model's input.
// Its label is the number of its class, which is the name of its folder. All images are decoded
// once if the plan has no index of them. After that, an image is decoded when its row is read, and
// kept while the storage of the plan has room; without room it is decoded again. It must then be
// the file that was inspected (DataLoss).
// InvalidArgument: an image cannot be decoded, or more of them than may be skipped; names the file.
absl::StatusOr<SourceArrays> ReadImages(const ReadRequest& request);

// As DataReader::survey. Labels are not read. Errors as ReadImages.
absl::StatusOr<SourceArrays> SurveyImages(const ReadRequest& request);

// The image files of a source, as DataReader::list. Errors as ListClassFiles.
absl::StatusOr<std::vector<std::string>> ListImages(const proto::DataSource& source,
                                                    const std::vector<std::string>& names,
                                                    bool needs_labels);

// Adds the classes to the plan, as DataReader::inspect. Errors as ClassesIn.
absl::Status InspectImages(const proto::DataSource& train, const SourceFiles& files,
                           proto::DataPlan* plan);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_IMAGES_IMAGE_SOURCE_H_
