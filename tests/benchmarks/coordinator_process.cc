#include "tests/benchmarks/coordinator_process.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cluster/rpc_channel.h"
#include "common/version.h"

namespace cairn::benchmarks {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(25);
constexpr absl::Duration kPatience = absl::Seconds(120);

std::string ReadText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void Check(const char* what, const grpc::Status& status) {
  if (!status.ok()) Fail(absl::StrCat(what, ": ", status.error_message()));
}

}  // namespace

void Fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

void WaitUntil(const std::string& what, const std::function<bool()>& condition) {
  const absl::Time end = absl::Now() + kPatience;
  while (!condition()) {
    if (absl::Now() > end) Fail(absl::StrCat("waited in vain until ", what));
    absl::SleepFor(absl::Milliseconds(20));
  }
}

// From /proc/PID/stat (fields 14 and 15, in clock ticks).
double CpuSeconds(int64_t pid) {
  const std::string all = ReadText(absl::StrCat("/proc/", pid, "/stat"));
  std::istringstream fields(all.substr(all.rfind(')') + 2));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double PeakMebibytes(int64_t pid) {
  const std::string all = ReadText(absl::StrCat("/proc/", pid, "/status"));
  const size_t line = all.find("VmHWM:");
  return line == std::string::npos ? 0 : std::atof(all.c_str() + line + 6) / 1024;
}

Client::Client(const std::string& address)
    : stub_(proto::Coordinator::NewStub(cluster::CreateChannel(address))) {}

void Client::Submit(const std::string& name, proto::Job job, proto::ModelSpec model) {
  proto::SubmitRequest request;
  request.set_client_version(kVersion);
  job.set_name(name);
  job.set_model("/model.json");
  job.mutable_train()->mutable_npy()->add_features("/x.npy");
  job.mutable_train()->mutable_npy()->add_labels("/y.npy");
  job.mutable_loss()->set_name("mean_squared_error");
  job.mutable_optimizer()->set_name("sgd");
  job.set_batch_size(1);
  job.set_epochs(1);
  *request.mutable_job() = std::move(job);
  *request.mutable_model() = std::move(model);
  proto::SubmitReply reply;
  grpc::ClientContext context;
  Check("the job was refused", stub_->Submit(&context, request, &reply));
}

int64_t Client::BatchesDone(const std::string& job) {
  proto::JobReference request;
  request.set_job(job);
  proto::JobStatus reply;
  grpc::ClientContext context;
  Check("no status", stub_->GetJob(&context, request, &reply));
  if (reply.state() == proto::FAILED) Fail(absl::StrCat("the job failed: ", reply.error()));
  return reply.batches_done();
}

void Client::TakeCheckpoint(const std::string& job) {
  proto::JobReference request;
  request.set_job(job);
  proto::Manifest reply;
  grpc::ClientContext context;
  Check("no checkpoint", stub_->TakeCheckpoint(&context, request, &reply));
}

bool Client::GetCluster(proto::ClusterStatus* cluster) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
  return stub_->GetCluster(&context, {}, cluster).ok();
}

Ticker::Ticker(std::function<void()> tick) {
  thread_ = std::thread([this, tick = std::move(tick)] {
    while (!stop_) {
      const absl::Time next = absl::Now() + kTick;
      tick();
      absl::SleepFor(next - absl::Now());
    }
  });
}

Ticker::~Ticker() {
  stop_ = true;
  thread_.join();
}

}  // namespace cairn::benchmarks
