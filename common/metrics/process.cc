#include "common/metrics/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace longshore::metrics {
namespace {

constexpr Name kStartTime{"process_start_time_seconds", "When the process started, in seconds since 1970."};
constexpr Name kCpu{"process_cpu_seconds_total", "Processor time that the process has used, in seconds."};
constexpr Name kMemory{"process_resident_memory_bytes", "Resident memory of the process, in bytes."};
constexpr Name kOpenFiles{"process_open_fds", "Number of open files and sockets."};
constexpr Name kFilesMax{"process_max_fds", "Limit of open files and sockets."};
constexpr Name kBuildInfo{"longshore_build_info",
                          "Always 1; the labels have the version and the compiler of the program."};

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

void ShowCpu(Exposition* out) {
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) == 0) out->Count(kCpu, {}, Seconds(used.ru_utime) + Seconds(used.ru_stime));
}

void ShowMemory(Exposition* out) {
  std::ifstream pages("/proc/self/statm");
  double all = 0;
  double resident = 0;
  if (pages >> all >> resident) out->Set(kMemory, {}, resident * static_cast<double>(sysconf(_SC_PAGESIZE)));
}

void ShowFiles(Exposition* out) {
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  if (!error) out->Set(kOpenFiles, {}, static_cast<double>(std::distance(begin(open), end(open))));
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) out->Set(kFilesMax, {}, static_cast<double>(limit.rlim_cur));
}

}  // namespace

void AddProcessMetrics(TimePoint started, const std::string& version, Registry& registry) {
  const double seconds = std::chrono::duration<double>(started.time_since_epoch()).count();
  registry.AddSource([seconds, version](Exposition* out) {
    out->Set(kStartTime, {}, seconds);
    out->Set(kBuildInfo, {{"version", version}, {"compiler", __VERSION__}}, 1);
    ShowCpu(out);
    ShowMemory(out);
    ShowFiles(out);
  });
}

}  // namespace longshore::metrics
