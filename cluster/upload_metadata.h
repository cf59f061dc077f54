#ifndef CAIRN_CLUSTER_UPLOAD_METADATA_H_
#define CAIRN_CLUSTER_UPLOAD_METADATA_H_

namespace cairn::cluster {

// A call of Coordinator.GetJob with this metadata key says that the caller uploads the job's
// weights. Other calls say nothing of the uploader: anybody may look at a job.
inline constexpr char kUploadMetadata[] = "cairn-uploads";

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_UPLOAD_METADATA_H_
