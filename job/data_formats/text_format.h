#ifndef CAIRN_JOB_DATA_FORMATS_TEXT_FORMAT_H_
#define CAIRN_JOB_DATA_FORMATS_TEXT_FORMAT_H_

#include "job/data_formats/data_features.h"
#include "job/data_formats/data_format.h"
#include "proto/job.pb.h"

namespace cairn::job {

// Texts: lines of files, or files in folders.
DataFormat TextFormat();

// Texts are examples with one feature and one label, which have the same rules as those of tables.
inline constexpr char kTextFeature[] = "text";
inline constexpr char kTextLabel[] = "label";

// `takes_text`: the model's input takes the text itself.
DataFeatures TextFeatures(const proto::TextSource& source, bool takes_text);
DataFeatures TextLabels(const proto::TextSource& source);

}  // namespace cairn::job

#endif  // CAIRN_JOB_DATA_FORMATS_TEXT_FORMAT_H_
