#include "serving-node/app/flags/config_files.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "common/os/file.h"

namespace longshore::app::flags {
namespace {

using testing::HasSubstr;

Path FileWith(const std::string& text) {
  const Path file = Path(testing::TempDir()) / fmt::format("config_{}.txt", getpid());
  CHECK(WriteFileAtomically(file, text));
  return file;
}

Result<Flags> Monitoring(const std::string& text) {
  Flags flags;
  flags.observe.monitoring_config_file = FileWith(text);
  RETURN_IF_ERROR(ReadConfigFiles(&flags));
  return flags;
}

Result<Flags> Session(const std::string& text, int threads = 0) {
  Flags flags;
  flags.threads = threads;
  flags.tensorflow_session_config_file = FileWith(text);
  RETURN_IF_ERROR(ReadConfigFiles(&flags));
  return flags;
}

TEST(ConfigFiles, SetTheMetricsPathFromTheMonitoringConfig) {
  EXPECT_EQ(Flags().observe.metrics_path, "");
  EXPECT_EQ(Monitoring("prometheus_config { enable: true }")->observe.metrics_path, "/monitoring/prometheus/metrics");
  EXPECT_EQ(Monitoring("prometheus_config { enable: true path: '/metrics' }")->observe.metrics_path, "/metrics");
  EXPECT_EQ(Monitoring("prometheus_config { path: '/metrics' }")->observe.metrics_path, "");
  EXPECT_THAT(Monitoring("prometheus_config { enable: true path: 'metrics' }").error().message, HasSubstr("slash"));
  EXPECT_THAT(Monitoring("prometheus { }").error().message, HasSubstr("--monitoring_config_file: "));
}

TEST(ConfigFiles, SetThreadsFromTheSessionConfigUnlessAFlagDoes) {
  const std::string text = "intra_op_parallelism_threads: 3 inter_op_parallelism_threads: 5";
  EXPECT_EQ(Session(text)->threads, 3);
  EXPECT_EQ(Session(text)->max_concurrent_runs, 5);
  EXPECT_EQ(Session(text, 2)->threads, 2);
  EXPECT_THAT(Session("allow_soft_placement: true").error().message, HasSubstr("allow_soft_placement"));
  EXPECT_THAT(Session("intra_op_parallelism_threads: -1").error().message, HasSubstr("negative"));
}

}  // namespace
}  // namespace longshore::app::flags
