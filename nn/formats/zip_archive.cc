#include "nn/formats/zip_archive.h"

#include <zip.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace cairn::nn {
namespace {

constexpr uint64_t kSizeAlwaysAllowed = uint64_t{16} << 20;
constexpr uint64_t kExpansionMax = 100;

struct DiscardArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
struct FreeSource {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, DiscardArchive>;
using Source = std::unique_ptr<zip_source_t, FreeSource>;

// The error of the last call on `archive`, or of creating it.
absl::Status Damaged(zip_error_t* error) {
  return absl::InvalidArgumentError(absl::StrCat("damaged zip file: ", zip_error_strerror(error)));
}

// Opens an archive. It owns a reference to `source`, and so does the caller.
absl::StatusOr<Archive> Open(zip_source_t* source, int flags) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_keep(source);
  Archive archive(zip_open_from_source(source, flags, &error));
  absl::Status status = absl::OkStatus();
  if (archive == nullptr) {
    zip_source_free(source);
    status = Damaged(&error);
  }
  zip_error_fini(&error);
  if (!status.ok()) return status;
  return archive;
}

absl::Status CheckSize(const zip_stat_t& stat) {
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
  if ((stat.valid & kNeeded) != kNeeded) {
    return absl::InvalidArgumentError("damaged zip file: a member without a size");
  }
  if (stat.size <= kSizeAlwaysAllowed || stat.size / kExpansionMax <= stat.comp_size) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("zip member ", stat.name, " claims ", stat.size,
                                                 " bytes from ", stat.comp_size, "; more than ",
                                                 kExpansionMax, " times as many are not read"));
}

}  // namespace

absl::StatusOr<std::string> ReadZipMember(std::string_view archive_bytes, const std::string& name) {
  const Source source(zip_source_buffer_create(archive_bytes.data(), archive_bytes.size(),
                                               /*freep=*/0, nullptr));
  if (source == nullptr) return absl::ResourceExhaustedError("no memory for a zip archive");
  auto archive = Open(source.get(), ZIP_RDONLY);
  if (!archive.ok()) return archive.status();
  const zip_int64_t index = zip_name_locate(archive->get(), name.c_str(), ZIP_FL_ENC_GUESS);
  if (index < 0) return absl::NotFoundError(absl::StrCat("the zip file has no ", name));
  zip_stat_t stat;
  if (zip_stat_index(archive->get(), index, 0, &stat) != 0) {
    return Damaged(zip_get_error(archive->get()));
  }
  if (absl::Status status = CheckSize(stat); !status.ok()) return status;
  const std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen_index(archive->get(), index, 0));
  if (file == nullptr) return Damaged(zip_get_error(archive->get()));
  // A stored member cannot be larger than the archive, whatever its header claims.
  const uint64_t largest = kSizeAlwaysAllowed + kExpansionMax * archive_bytes.size();
  if (stat.size > largest) return absl::InvalidArgumentError("damaged zip file: sizes disagree");
  std::string contents(stat.size, '\0');
  zip_uint64_t filled = 0;
  // One byte more than the size: reaching the end makes libzip verify the checksum.
  char beyond = 0;
  while (true) {
    const bool complete = filled == contents.size();
    const zip_int64_t got = zip_fread(file.get(), complete ? &beyond : contents.data() + filled,
                                      complete ? 1 : contents.size() - filled);
    if (got < 0) return Damaged(zip_file_get_error(file.get()));
    if (got == 0) break;
    if (complete) return absl::InvalidArgumentError("damaged zip file: sizes disagree");
    filled += got;
  }
  if (filled == contents.size()) return contents;
  return absl::InvalidArgumentError(absl::StrCat("damaged zip file: ", name, " is cut off"));
}

absl::StatusOr<std::string> WriteZip(const std::vector<ZipMember>& members) {
  const Source destination(zip_source_buffer_create(nullptr, 0, /*freep=*/0, nullptr));
  if (destination == nullptr) return absl::ResourceExhaustedError("no memory for a zip archive");
  auto archive = Open(destination.get(), ZIP_CREATE | ZIP_TRUNCATE);
  if (!archive.ok()) return archive.status();
  for (const ZipMember& member : members) {
    zip_source_t* source =
        zip_source_buffer(archive->get(), member.contents.data(), member.contents.size(), 0);
    const zip_int64_t index =
        source == nullptr ? -1 : zip_file_add(archive->get(), member.name.c_str(), source, 0);
    if (index < 0) return absl::InternalError(zip_strerror(archive->get()));
    zip_set_file_compression(archive->get(), index, ZIP_CM_STORE, 0);
    // Midnight of 1980-01-01, the first date that a zip file can have.
    zip_file_set_dostime(archive->get(), index, 0, (1 << 5) | 1, 0);
  }
  if (zip_close(archive->get()) != 0) return absl::InternalError(zip_strerror(archive->get()));
  static_cast<void>(archive->release());
  zip_stat_t stat;
  if (zip_source_stat(destination.get(), &stat) != 0 || zip_source_open(destination.get()) != 0) {
    return absl::InternalError("the zip archive cannot be read back");
  }
  std::string bytes(stat.size, '\0');
  const zip_int64_t got = zip_source_read(destination.get(), bytes.data(), bytes.size());
  zip_source_close(destination.get());
  if (got == static_cast<zip_int64_t>(bytes.size())) return bytes;
  return absl::InternalError("the zip archive cannot be read back");
}

}  // namespace cairn::nn
