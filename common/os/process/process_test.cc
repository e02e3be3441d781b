#include "common/os/process/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "common/os/file.h"
#include "common/os/process/background.h"
#include "common/os/process/steady_reader.h"

namespace longshore::process {
namespace {

using std::chrono::seconds;

class ProcessTest : public ::testing::Test {
 protected:
  ProcessTest() {
    char name[] = "/tmp/longshore_process_XXXXXX";
    dir_ = mkdtemp(name);
  }
  ~ProcessTest() override { std::filesystem::remove_all(dir_); }

  static SpawnOptions Shell(const std::string& script) { return {.argv = {"/bin/sh", "-c", script}}; }

  Path dir_;
};

TEST_F(ProcessTest, ReportsTheExitCodeOrTheSignalThatEndedAProcess) {
  auto code = Spawn(Shell("exit 7"));
  auto signal = Spawn(Shell("kill -SEGV $$"));
  ASSERT_TRUE(code && signal);
  EXPECT_EQ(ToString(code->Wait(seconds(10)).value()), "exited with code 7");
  EXPECT_EQ(ToString(signal->Wait(seconds(10)).value()), "was killed by signal 11 (SIGSEGV)");
  EXPECT_EQ(code->Wait(seconds(0))->code, 7) << "later calls return the same exit";
}

TEST_F(ProcessTest, PassesDescriptorsUnderTheirNewNumbersEvenIfTheySwap) {
  Descriptor a(open((dir_ / "a").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  Descriptor b(open((dir_ / "b").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  SpawnOptions options =
      Shell("eval 'echo first >&" + std::to_string(b.get()) + "; echo second >&" + std::to_string(a.get()) + "'");
  options.argv[0] = "/bin/bash";
  options.descriptors = {{b.get(), a.get()}, {a.get(), b.get()}};
  auto child = Spawn(options);
  ASSERT_TRUE(child) << child.error().message;
  ASSERT_TRUE(child->Wait(seconds(10))->ok());
  EXPECT_EQ(ReadFile(dir_ / "a").value(), "first\n");
  EXPECT_EQ(ReadFile(dir_ / "b").value(), "second\n");
}

TEST_F(ProcessTest, AppendsTheOutputToTheLogAndSetsTheEnvironment) {
  SpawnOptions options = Shell("echo out $COLOUR; echo err >&2");
  options.log_file = dir_ / "log";
  options.env = std::vector<std::string>{"COLOUR=blue"};
  for (int i = 0; i < 2; ++i) {
    auto child = Spawn(options);
    ASSERT_TRUE(child && child->Wait(seconds(10))->ok());
  }
  EXPECT_EQ(ReadFile(dir_ / "log").value(), "out blue\nerr\nout blue\nerr\n");
}

TEST_F(ProcessTest, NamesAMissingProgram) {
  const auto child = Spawn({.argv = {"/no/such/program"}});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error(), (Error{Code::kNotFound, "program /no/such/program does not exist"}));
}

TEST_F(ProcessTest, AdoptsARunningProcessAndRefusesAReusedPid) {
  auto child = Spawn(Shell("exec sleep 100"));
  ASSERT_TRUE(child);
  auto adopted = Adopt(child->pid(), child->start_time());
  ASSERT_TRUE(adopted) << adopted.error().message;
  EXPECT_FALSE(Adopt(child->pid(), child->start_time() + 1)) << "another process under the same pid";
  EXPECT_FALSE(adopted->Wait(seconds(0)));
  ASSERT_TRUE(adopted->Signal(SIGKILL));
  const auto exit = adopted->Wait(seconds(10));
  ASSERT_TRUE(exit);
  EXPECT_FALSE(exit->known);
  EXPECT_FALSE(Adopt(child->pid(), child->start_time())) << "a zombie has ended";
  EXPECT_EQ(child->Wait(seconds(10))->signal, SIGKILL);
  EXPECT_EQ(child->Signal(SIGTERM).error().code, Code::kNotFound);
}

TEST_F(ProcessTest, NamesThePortThatIsInUse) {
  const Descriptor first(ListenTcp("127.0.0.1", 0).value());
  const int port = LocalPort(first.get()).value();
  const auto second = ListenTcp("127.0.0.1", port);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, fmt::format("port {} on 127.0.0.1 is in use by this process", port));
  EXPECT_EQ(ListenTcp("not an address", 0).error().code, Code::kInvalidArgument);
  EXPECT_EQ(Listen(fmt::format("127.0.0.1:{}", port)).error(), second.error());
  for (const char* address : {"", "nonsense", "127.0.0.1:http!", "127.0.0.1:", "127.0.0.1:99999", "unix:"}) {
    EXPECT_EQ(Listen(address).error().code, Code::kInvalidArgument) << address;
  }
}

TEST_F(ProcessTest, SendsDescriptorsThroughAUnixSocket) {
  const Path path = dir_ / "handover.sock";
  const Descriptor listening(ListenUnix(path).value());
  const Descriptor client(ConnectUnix(path).value());
  const Descriptor server(accept(listening.get(), nullptr, nullptr));
  const Descriptor tcp(ListenTcp("127.0.0.1", 0).value());
  const int sent[] = {tcp.get(), listening.get()};
  ASSERT_TRUE(SendDescriptors(server.get(), sent));
  const auto received = ReceiveDescriptors(client.get(), 2);
  ASSERT_TRUE(received) << received.error().message;
  ASSERT_EQ(received->size(), 2U);
  EXPECT_EQ(LocalPort((*received)[0]).value(), LocalPort(tcp.get()).value());
  for (const int fd : *received) close(fd);

  ASSERT_TRUE(SendDescriptors(server.get(), sent));
  EXPECT_EQ(ReceiveDescriptors(client.get(), 1).error().code, Code::kInvalidArgument) << "more than the limit";
  EXPECT_EQ(ReceiveDescriptors(client.get(), 1, 0).error().code, Code::kDeadlineExceeded);
}

TEST_F(ProcessTest, ReplacesAnUnusedUnixSocketButNotOneInUse) {
  const Path path = dir_ / "x.sock";
  { const Descriptor dead(ListenUnix(path).value()); }
  EXPECT_FALSE(ConnectUnix(path));
  const auto alive = ListenUnix(path);
  ASSERT_TRUE(alive) << "replaces the file of an unused socket";
  const Descriptor owner(*alive);
  EXPECT_EQ(ListenUnix(path).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(ListenUnix(dir_ / std::string(200, 'x')).error().code, Code::kInvalidArgument);
}

TEST_F(ProcessTest, TakesOverAUnixSocketInUseButNoOtherFile) {
  const Path path = dir_ / "x.sock";
  const Descriptor first(ListenUnix(path).value());
  const auto taken = TakeOverUnix(path);
  ASSERT_TRUE(taken) << taken.error().message;
  const Descriptor second(*taken);
  const Descriptor client(ConnectUnix(path).value());
  EXPECT_LT(accept(first.get(), nullptr, nullptr), 0);
  EXPECT_TRUE(Descriptor(accept(second.get(), nullptr, nullptr)).valid());

  const Path file = dir_ / "file";
  ASSERT_TRUE(WriteFileAtomically(file, "kept"));
  EXPECT_FALSE(TakeOverUnix(file));
  EXPECT_EQ(ReadFile(file).value(), "kept");
}

TEST_F(ProcessTest, LowersThePriorityOfABackgroundThread) {
  const auto nice = [] { return getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())); };
  const int before = nice();
  int background = 0, slack = 0;
  std::thread([&] {
    RunInBackground();
    background = nice();
    slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  }).join();
  EXPECT_GE(background, 10);
  EXPECT_EQ(slack, 1);
  EXPECT_EQ(nice(), before) << "other threads are not affected";
}

TEST_F(ProcessTest, SteadyReaderReadsTheFileFromTheOffset) {
  std::string text(3 * SteadyReader::kPieceBytes + 17, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 >> 3);
  const Path path = dir_ / "file";
  ASSERT_TRUE(WriteFileAtomically(path, text));
  for (const size_t offset : {size_t{0}, size_t{5}, SteadyReader::kPieceBytes, text.size(), text.size() + 9}) {
    auto reader = SteadyReader::Open(path, static_cast<int64_t>(offset));
    ASSERT_TRUE(reader) << reader.error().message;
    std::string got(1000, '\0');
    got.resize(reader->Read(got).value());
    std::string rest(text.size() + 1, '\0');
    rest.resize(reader->Read(rest).value());
    EXPECT_EQ(got + rest, text.substr(std::min(offset, text.size()))) << offset;
  }
}

TEST_F(ProcessTest, SteadyReaderNamesTheFileThatItCannotRead) {
  EXPECT_EQ(SteadyReader::Open(dir_ / "nowhere").error().code, Code::kNotFound);
  auto reader = SteadyReader::Open(dir_);  // A folder can be opened but not read.
  ASSERT_TRUE(reader);
  std::string got(10, '\0');
  const auto read = reader->Read(got);
  EXPECT_EQ(read.error().code, Code::kDataLoss);
  EXPECT_NE(read.error().message.find(dir_.string()), std::string::npos) << read.error().message;
}

}  // namespace
}  // namespace longshore::process
