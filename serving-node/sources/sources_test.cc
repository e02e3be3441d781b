#include "serving-node/sources/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "common/os/file.h"
#include "serving-node/sources/testing.h"

namespace longshore::sources {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

// A fake host. It gives the queued answers one after the other; afterwards it sends the archive from the requested
// position.
class Host {
 public:
  using Answer = std::function<Status(const download::Request&, const download::Receiver&)>;

  void Next(Answer answer) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
  }
  Getter getter() {
    return [this](const download::Request& request, const download::Receiver& receiver) -> Status {
      Answer answer;
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(request.from);
        if (!answers_.empty()) {
          answer = std::move(answers_.front());
          answers_.pop_front();
        }
      }
      return answer ? answer(request, receiver) : Whole(request, receiver);
    };
  }
  Status Whole(const download::Request& request, const download::Receiver& receiver) const {
    const std::string rest = bytes.substr(static_cast<size_t>(request.from));
    RETURN_IF_ERROR(receiver.on_begin(request.from, static_cast<int64_t>(bytes.size())));
    return receiver.on_piece(rest);
  }
  // Sends the first `count` bytes, then fails with Unavailable.
  Answer Cut(size_t count) const {
    return [this, count](const download::Request&, const download::Receiver& receiver) -> Status {
      RETURN_IF_ERROR(receiver.on_begin(0, static_cast<int64_t>(bytes.size())));
      RETURN_IF_ERROR(receiver.on_piece(std::string_view(bytes).substr(0, count)));
      return Unavailable("cut");
    };
  }
  std::vector<int64_t> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  std::string bytes = GoodTar();

 private:
  mutable std::mutex mutex_;
  std::deque<Answer> answers_;
  std::vector<int64_t> asked_;  // The start position of each request.
};

class SourcesTest : public FolderTest {
 protected:
  void TearDown() override {
    sources_.reset();
    FolderTest::TearDown();
  }
  void Start(milliseconds backoff = milliseconds(1), int64_t bytes_max = 1 << 20) {
    sources_.reset();
    SourcesOptions options;
    options.cache_dir = dir_ / "cache";
    options.cache_bytes_max = bytes_max;
    options.backoff_min = options.backoff_max = backoff;
    auto started = Sources::Start(options, host_.getter());
    ASSERT_TRUE(started) << started.error().message;
    sources_ = std::move(*started);
    sources_->SetOnReady([this] {
      readies_ += 1;
      readies_.notify_all();
    });
  }
  VersionSource Archive() const { return {"https://host/digits.tar?secret=1", ShaOf(host_.bytes)}; }
  template <typename Predicate>
  SourceStatus Await(const VersionSource& source, const Predicate& wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    SourceStatus status = sources_->StatusOf(source);
    while (!wanted(status) && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
      status = sources_->StatusOf(source);
    }
    return status;
  }
  SourceStatus AwaitReady(const VersionSource& source) {
    return Await(source, [](const SourceStatus& status) { return status.state == SourceState::kReady; });
  }
  SourceStatus AwaitFailed(const VersionSource& source, const std::string& words) {
    return Await(source, [&](const SourceStatus& status) {
      return status.state == SourceState::kFailed && status.message.find(words) != std::string::npos;
    });
  }

  Host host_;
  std::atomic<int> readies_ = 0;
  std::unique_ptr<Sources> sources_;
};

TEST_F(SourcesTest, UsesAFolderInPlace) {
  Start();
  EXPECT_EQ(sources_->FolderOf({"file:///models/m", ""}).value(), "/models/m");
  EXPECT_EQ(sources_->FolderOf({"s3://m", ""}).error().code, Code::kUnimplemented);
  EXPECT_EQ(sources_->StatusOf({"file://relative", ""}).state, SourceState::kFailed);
  EXPECT_EQ(sources_->StatusOf({"https://h/m.tar", "../../etc"}).state, SourceState::kFailed);
}

TEST_F(SourcesTest, FetchesAnArchiveOnceAndThenUsesTheCache) {
  Start();
  EXPECT_EQ(sources_->StatusOf(Archive()).message, "no model of this node needs the archive");
  sources_->Want({Archive()});
  const SourceStatus status = AwaitReady(Archive());
  EXPECT_EQ(ReadFile(status.folder / "1/saved_model.pb").value(), "graph");
  readies_.wait(0);
  Start();
  sources_->Want({Archive()});
  EXPECT_EQ(AwaitReady(Archive()).folder, status.folder);
  EXPECT_EQ(host_.asked().size(), 1U);
}

TEST_F(SourcesTest, FetchesADamagedEntryAgain) {
  Start();
  sources_->Want({Archive()});
  const Path file = AwaitReady(Archive()).folder / "1/saved_model.pb";
  ASSERT_TRUE(WriteFileAtomically(file, "other"));
  Start();
  sources_->Want({Archive()});
  AwaitReady(Archive());
  EXPECT_EQ(ReadFile(file).value(), "graph");
  EXPECT_EQ(host_.asked().size(), 2U);
}

TEST_F(SourcesTest, ResumesAnInterruptedDownloadInTheNextProcess) {
  host_.Next(host_.Cut(700));
  Start(std::chrono::hours(1));
  sources_->Want({Archive()});
  const SourceStatus status = AwaitFailed(Archive(), "cut");
  EXPECT_THAT(status.message, HasSubstr("attempt 1, the next one within 3.6e+03 s"));
  Start();
  sources_->Want({Archive()});
  AwaitReady(Archive());
  EXPECT_THAT(host_.asked(), ElementsAre(0, 700));
}

TEST_F(SourcesTest, AcceptsTheWholeArchiveFromAHostThatCannotResume) {
  host_.Next(host_.Cut(700));
  host_.Next([this](const download::Request&, const download::Receiver& receiver) {
    return host_.Whole({.url = "", .from = 0}, receiver);
  });
  Start();
  sources_->Want({Archive()});
  AwaitReady(Archive());
  EXPECT_THAT(host_.asked(), ElementsAre(0, 700));
}

TEST_F(SourcesTest, StartsAgainIfTheArchiveChangedDuringTheDownload) {
  host_.Next(host_.Cut(700));
  host_.Next([](const download::Request&, const download::Receiver&) -> Status { return OutOfRange("no such bytes"); });
  Start();
  sources_->Want({Archive()});
  AwaitReady(Archive());
  EXPECT_THAT(host_.asked(), ElementsAre(0, 700, 0));
}

TEST_F(SourcesTest, DiscardsWrongBytesAndFetchesThemAgain) {
  host_.Next([this](const download::Request&, const download::Receiver& receiver) -> Status {
    RETURN_IF_ERROR(receiver.on_begin(0, std::nullopt));
    return receiver.on_piece(host_.bytes + "x");
  });
  Start(std::chrono::hours(1));
  const VersionSource source = Archive();
  sources_->Want({source});
  const SourceStatus status = AwaitFailed(source, "SHA-256");
  EXPECT_THAT(status.message, HasSubstr(ShaOf(host_.bytes + "x") + ", not " + source.sha256));
  EXPECT_THAT(status.message, testing::Not(HasSubstr("secret")));
  EXPECT_FALSE(std::filesystem::exists(sources_->cache().PartOf(source.sha256)));
  // A new URL for the same bytes is tried at once.
  sources_->Want({{"https://other/digits.tar", source.sha256}});
  AwaitReady({"https://other/digits.tar", source.sha256});
  EXPECT_THAT(host_.asked(), ElementsAre(0, 0));
}

TEST_F(SourcesTest, DoesNotRetryBytesThatAreNotAValidArchive) {
  host_.bytes = TarEntryOf("../evil", "x") + TarEnd();
  Start();
  sources_->Want({Archive()});
  const SourceStatus status = AwaitFailed(Archive(), "points outside");
  EXPECT_THAT(status.message, testing::StartsWith("https://host/digits.tar: the archive's entry \"../evil\""));
  EXPECT_THAT(status.message, testing::Not(HasSubstr("attempt")));
  sources_->Want({Archive()});
  EXPECT_EQ(host_.asked().size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "evil"));
  EXPECT_EQ(sources_->cache().entries(), 0U);
}

TEST_F(SourcesTest, RefusesAnArchiveLargerThanTheCache) {
  Start(std::chrono::hours(1), 4096);
  sources_->Want({Archive()});
  EXPECT_THAT(AwaitFailed(Archive(), "do not fit").message, HasSubstr("its limit is 4096"));
}

TEST_F(SourcesTest, DownloadsAnArchiveOnceForManyRequests) {
  Start();
  for (int i = 0; i < 100; ++i) sources_->Want({Archive(), Archive()});
  AwaitReady(Archive());
  for (int i = 0; i < 100; ++i) sources_->Want({Archive()});
  EXPECT_EQ(host_.asked().size(), 1U);
}

TEST_F(SourcesTest, ReportsProgressAndStopsWhenTheArchiveIsNoLongerWanted) {
  std::atomic<bool> cancelled = false;
  host_.Next([&](const download::Request&, const download::Receiver& receiver) -> Status {
    RETURN_IF_ERROR(receiver.on_begin(0, 4'000'000));
    RETURN_IF_ERROR(receiver.on_piece(std::string(1'930'000, 'x')));
    while (!receiver.is_cancelled()) std::this_thread::yield();
    cancelled = true;
    cancelled.notify_all();
    return Cancelled("cancelled");
  });
  Start(milliseconds(1), 8 << 20);
  const VersionSource source = Archive();
  sources_->Want({source});
  const SourceStatus status = Await(source, [](const SourceStatus& seen) { return seen.message.ends_with("MB"); });
  EXPECT_EQ(status.message, "fetching https://host/digits.tar: 45 % of 4.0 MB");
  EXPECT_EQ(sources_->FolderOf(source).error().code, Code::kUnavailable);
  sources_->Want({});
  cancelled.wait(false);
  sources_.reset();
  EXPECT_THAT(Below(dir_ / "cache" / "staging"), ElementsAre());
}

TEST_F(SourcesTest, ASlowHostDoesNotDelayOthers) {
  std::atomic<bool> go_on = false;
  const VersionSource slow = Archive();
  host_.Next([&](const download::Request& request, const download::Receiver& receiver) -> Status {
    go_on.wait(false);
    return host_.Whole(request, receiver);
  });
  Start();
  sources_->Want({slow});
  while (host_.asked().empty()) std::this_thread::yield();
  const std::string other = TarEntryOf("1/saved_model.pb", "other") + TarEnd();
  host_.Next([&](const download::Request&, const download::Receiver& receiver) -> Status {
    RETURN_IF_ERROR(receiver.on_begin(0, std::nullopt));
    return receiver.on_piece(other);
  });
  sources_->Want({slow, {"https://host/other.tar", ShaOf(other)}});
  AwaitReady({"https://host/other.tar", ShaOf(other)});
  go_on = true;
  go_on.notify_all();
  AwaitReady(slow);
}

}  // namespace
}  // namespace longshore::sources
