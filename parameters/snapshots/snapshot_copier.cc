#include "parameters/snapshots/snapshot_copier.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/status_macros.h"

namespace cairn::parameters {

absl::Status SnapshotCopier::Copy(const SnapshotFetcher::Source& source,
                                  const std::vector<uint32_t>& blocks) {
  const proto::SnapshotPart& part = source.part;
  const storage::SnapshotName name{source.job_id, source.checkpoint, part.ps()};
  const auto present = store_.OpenSnapshot(name);
  if (present.ok() && (*present)->summary().checksum == part.checksum()) return absl::OkStatus();
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<storage::SnapshotWriter> writer,
                         store_.BeginSnapshot(name));
  CAIRN_RETURN_IF_ERROR(
      fetcher_.Fetch(source, blocks, [&](uint32_t block, storage::BlockRecord record) {
        return writer->Add(block, record.header(), {record.payload()});
      }));
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("copy.finish"));
  // Finish verifies the file against the fetched blocks; the checksum verifies these against the
  // original.
  CAIRN_ASSIGN_OR_RETURN(const storage::SnapshotSummary written, writer->Finish());
  if (written.checksum == part.checksum()) return absl::OkStatus();
  CAIRN_RETURN_IF_ERROR(store_.DeleteSnapshot(name));
  return absl::DataLossError(
      absl::StrCat("the copy of ", storage::DescribeSnapshot(name), " has ", written.blocks,
                   " blocks with ", written.bytes, " bytes, the original has ", part.blocks(),
                   " blocks with ", part.bytes(), " bytes, or their contents differ"));
}

}  // namespace cairn::parameters
