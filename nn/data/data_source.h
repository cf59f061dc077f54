#ifndef CAIRN_NN_DATA_DATA_SOURCE_H_
#define CAIRN_NN_DATA_DATA_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nn/model.h"
#include "proto/job.pb.h"

namespace cairn::nn {

// What a job says about its data, seen without any file. All errors are InvalidArgument, begin with
// the field's path in the job file, and name the value and what it may be.

// Checks everything that needs no model.
absl::Status CheckJobData(const proto::Job& job);

// Whether the sources of a job that CheckJobData let pass can feed the model's inputs and have
// labels for its outputs. ResolveLabels has seen them.
absl::Status CheckDataFitsModel(const proto::Job& job, const Model& model);

// A file, or a pattern for files, that a source names.
struct DataFile {
  std::string path;  // In the job file: "train.idx.features[0]".
  std::string* name = nullptr;
};

// All of them. They belong to `source`; `path` is the source's.
std::vector<DataFile> FilesOf(const std::string& path, proto::DataSource* source);

// The job's validation source as it is meant: what it does not say about labels, columns and
// preprocessing it takes from the training source, but for `scale`, which belongs to the files.
proto::DataSource ValidationSource(const proto::Job& job);

// Whether labels of the model's output of this name are class numbers that become vectors.
bool IsOneHot(const proto::DataSource& source, const std::string& output);

// "npy"; empty if the source says none.
std::string FormatName(const proto::DataSource& source);

// The formats, for messages: "idx, npy, ...".
inline constexpr char kDataFormats[] = "idx, npy, csv, cifar10, cifar100";

}  // namespace cairn::nn

#endif  // CAIRN_NN_DATA_DATA_SOURCE_H_
