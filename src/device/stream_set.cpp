#include "device/stream_set.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "device/text.hpp"

namespace cistern::device {

using base::Result;
using base::Status;
using base::StatusCode;

namespace {

// The stream whose work this thread is doing now.
thread_local const void* t_working_for = nullptr;

Status own_stream() {
  return Status(StatusCode::busy, "work of a stream cannot wait for that same stream: it would wait for itself");
}

}  // namespace

StreamSet::StreamSet(Completion completion, std::shared_ptr<WorkTime> time)
    : completion_(completion), time_(std::move(time)) {
  streams_.emplace(StreamHandle{0}, std::make_shared<Stream>());
}

StreamSet::~StreamSet() { drain(); }

// --- Streams -----------------------------------------------------------------------------------

Result<StreamSet::StreamPtr> StreamSet::find(StreamHandle handle) const {
  const auto place = streams_.find(handle);
  if (place != streams_.end()) return place->second;
  return base::not_found("stream " + hex(handle) + " is no stream of this device, or it was destroyed");
}

Result<StreamHandle> StreamSet::create_stream() noexcept {
  Lock lock(mutex_);
  auto stream = std::make_shared<Stream>();
  stream->handle = ++last_stream_;
  streams_.emplace(stream->handle, stream);
  const std::vector<StreamPtr> ended = take_ended();
  lock.unlock();
  join(ended);
  return stream->handle;
}

Status StreamSet::destroy_stream(StreamHandle handle) noexcept {
  Lock lock(mutex_);
  if (handle == 0) return base::invalid_argument("the default stream, 0, cannot be destroyed");
  auto found = find(handle);
  if (!found.is_ok()) return found.take_status();
  const StreamPtr stream = found.take();
  stream->closed = true;
  streams_.erase(handle);
  leaving_.push_back(stream);
  stream->arrived.notify_all();
  const std::vector<StreamPtr> ended = take_ended();
  lock.unlock();
  join(ended);
  return {};
}

// Destroyed streams of which nothing is left but, perhaps, a thread to be joined.
std::vector<StreamSet::StreamPtr> StreamSet::take_ended() {
  std::vector<StreamPtr> ended;
  std::erase_if(leaving_, [&](const StreamPtr& stream) {
    const bool gone = stream->thread.joinable() ? stream->ended : stream->queue.empty() && !stream->busy;
    if (gone) ended.push_back(stream);
    return gone;
  });
  return ended;
}

void StreamSet::join(const std::vector<StreamPtr>& streams) noexcept {
  for (const StreamPtr& stream : streams) {
    if (stream->thread.joinable()) stream->thread.join();
  }
}

std::uint64_t StreamSet::threads() const noexcept {
  Lock lock(mutex_);
  const auto has_thread = [](const StreamPtr& stream) { return stream->thread.joinable(); };
  return static_cast<std::uint64_t>(
      std::count_if(streams_.begin(), streams_.end(), [&](const auto& entry) { return has_thread(entry.second); }) +
      std::count_if(leaving_.begin(), leaving_.end(), has_thread));
}

// --- Work --------------------------------------------------------------------------------------

Status StreamSet::submit(StreamHandle handle, Work work) noexcept {
  WorkId id = 0;
  if (observer_ != nullptr) {
    id = last_work_.fetch_add(1, std::memory_order_relaxed) + 1;
    observer_->on_submit(id, handle, work);  // before it can begin
  }
  Lock lock(mutex_);
  auto stream = find(handle);
  Status status = stream.is_ok()
                      ? push(stream.value(), {Kind::work, time_->now_ns(), std::move(work), nullptr, id}, lock)
                      : stream.take_status();
  lock.unlock();
  if (!status.is_ok() && id != 0) observer_->on_end(id);
  return status;
}

Status StreamSet::push(const StreamPtr& stream, Item item, Lock& lock) {
  if (stop_.stop_requested()) return Status(StatusCode::busy, "the device is being destroyed and takes no more work");
  if (completion_ == Completion::threads) {
    if (Status started = start_thread(stream); !started.is_ok()) return started;
  }
  stream->queue.push_back(std::move(item));
  stream->arrived.notify_one();
  if (completion_ != Completion::immediate || t_working_for == stream.get()) return {};
  while (stream->busy || !stream->queue.empty()) {
    if (stream->busy) {
      done_.wait(lock);
    } else {
      do_front(*stream, lock);
    }
  }
  return {};
}

Status StreamSet::start_thread(const StreamPtr& stream) {
  if (stream->thread.joinable()) return {};
  try {
    stream->thread = std::thread([this, stream] { run(stream); });
  } catch (const std::system_error& error) {
    return Status(StatusCode::device_error, std::string("no thread for a stream: ") + error.what(),
                  error.code().value());
  }
  return {};
}

void StreamSet::run(const StreamPtr& stream) noexcept {
  Lock lock(mutex_);
  for (;;) {
    stream->arrived.wait(lock, [&] { return !stream->queue.empty() || stream->closed || stop_.stop_requested(); });
    if (stream->queue.empty()) break;
    do_front(*stream, lock);
  }
  stream->ended = true;
}

void StreamSet::do_front(Stream& stream, Lock& lock) {
  Item item = std::move(stream.queue.front());
  stream.queue.pop_front();
  stream.busy = true;
  switch (item.kind) {
    case Kind::work: {
      const std::uint64_t end_ns = std::max(stream.end_ns, item.submitted_ns) + item.work.duration_ns;
      lock.unlock();
      if (item.id != 0) observer_->on_begin(item.id);
      if (item.work.duration_ns != 0) time_->wait_until(end_ns, stop_.get_token());
      const void* const outer = std::exchange(t_working_for, &stream);
      if (item.work.body) item.work.body();
      item.work.body = nullptr;  // what it holds may have destructors that call back
      t_working_for = outer;
      if (item.id != 0) observer_->on_end(item.id);
      lock.lock();
      stream.end_ns = end_ns;
      break;
    }
    case Kind::mark:
      item.mark->done = true;
      item.mark->at_ns = stream.end_ns;
      item.mark->stream = nullptr;
      break;
    case Kind::wait:
      if (completion_ != Completion::threads) do_until(*item.mark, lock);
      done_.wait(lock, [&] { return item.mark->done; });
      stream.end_ns = std::max(stream.end_ns, item.mark->at_ns);
      break;
  }
  stream.busy = false;
  done_.notify_all();
}

// --- Marks -------------------------------------------------------------------------------------

// Reached when all that the stream has now is done.
std::shared_ptr<StreamSet::Mark> StreamSet::mark_end(const StreamPtr& stream) {
  auto mark = std::make_shared<Mark>();
  if (stream->queue.empty() && !stream->busy) {
    mark->done = true;
    mark->at_ns = stream->end_ns;
    return mark;
  }
  // Something is queued or being done, so whoever does it will come to this too.
  mark->stream = stream;
  stream->queue.push_back({Kind::mark, 0, {}, mark, 0});
  stream->arrived.notify_one();
  return mark;
}

// Does the work before a mark, and the work which that waits for.
void StreamSet::do_until(const Mark& mark, Lock& lock) {
  while (!mark.done) {
    const StreamPtr stream = mark.stream;
    if (stream->busy) {
      done_.wait(lock);
    } else {
      do_front(*stream, lock);
    }
  }
}

Status StreamSet::wait_for(const std::shared_ptr<Mark>& mark, Lock& lock) {
  if (!mark->done && t_working_for != nullptr && t_working_for == mark->stream.get()) return own_stream();
  if (completion_ == Completion::threads) {
    done_.wait(lock, [&] { return mark->done; });
  } else {
    do_until(*mark, lock);
  }
  const std::uint64_t at_ns = mark->at_ns;
  lock.unlock();
  time_->host_waited(at_ns);
  return {};
}

Status StreamSet::wait_stream(StreamHandle handle) noexcept {
  Lock lock(mutex_);
  auto stream = find(handle);
  if (!stream.is_ok()) return stream.take_status();
  if (t_working_for == stream.value().get()) return own_stream();
  return wait_for(mark_end(stream.value()), lock);
}

Status StreamSet::wait_all() noexcept {
  if (t_working_for != nullptr) return own_stream();
  Lock lock(mutex_);
  std::vector<std::shared_ptr<Mark>> marks;
  for (const auto& [handle, stream] : streams_) marks.push_back(mark_end(stream));
  for (const StreamPtr& stream : leaving_) marks.push_back(mark_end(stream));
  for (const auto& mark : marks) {
    if (!lock.owns_lock()) lock.lock();
    if (Status status = wait_for(mark, lock); !status.is_ok()) return status;
  }
  return {};
}

// --- Events ------------------------------------------------------------------------------------

namespace {

Status no_event(EventHandle event) { return base::not_found(hex(event) + " is no event of this device"); }

}  // namespace

EventHandle StreamSet::create_event() noexcept {
  Lock lock(mutex_);
  events_.emplace(++last_event_, nullptr);
  return last_event_;
}

Status StreamSet::destroy_event(EventHandle event) noexcept {
  Lock lock(mutex_);
  return events_.erase(event) == 1 ? Status() : no_event(event);
}

Status StreamSet::record(EventHandle event, StreamHandle handle) noexcept {
  Lock lock(mutex_);
  const auto place = events_.find(event);
  if (place == events_.end()) return no_event(event);
  auto stream = find(handle);
  if (!stream.is_ok()) return stream.take_status();
  place->second = mark_end(stream.value());
  return {};
}

Result<bool> StreamSet::query(EventHandle event) noexcept {
  Lock lock(mutex_);
  const auto place = events_.find(event);
  if (place == events_.end()) return no_event(event);
  return place->second == nullptr || place->second->done;
}

Status StreamSet::wait_event(EventHandle event) noexcept {
  Lock lock(mutex_);
  const auto place = events_.find(event);
  if (place == events_.end()) return no_event(event);
  const std::shared_ptr<Mark> mark = place->second;
  return mark == nullptr ? Status() : wait_for(mark, lock);
}

Status StreamSet::stream_wait(StreamHandle handle, EventHandle event) noexcept {
  Lock lock(mutex_);
  const auto place = events_.find(event);
  if (place == events_.end()) return no_event(event);
  auto stream = find(handle);
  if (!stream.is_ok()) return stream.take_status();
  const std::shared_ptr<Mark> mark = place->second;
  // Work of the same stream is in order anyway.
  if (mark == nullptr || mark->stream == stream.value()) return {};
  if (mark->done && stream.value()->queue.empty() && !stream.value()->busy) {
    stream.value()->end_ns = std::max(stream.value()->end_ns, mark->at_ns);
    return {};
  }
  return push(stream.value(), {Kind::wait, 0, {}, mark, 0}, lock);
}

// --- Stepping and the end ----------------------------------------------------------------------

bool StreamSet::is_stuck(const Stream& stream) const {
  return stream.busy || stream.queue.empty() ||
         (stream.queue.front().kind == Kind::wait && !stream.queue.front().mark->done);
}

Result<bool> StreamSet::step(StreamHandle handle) noexcept {
  if (completion_ != Completion::stepped)
    return base::unsupported("only a device whose streams are stepped takes steps");
  Lock lock(mutex_);
  auto found = find(handle);
  const auto leaving =
      std::find_if(leaving_.begin(), leaving_.end(), [&](const StreamPtr& each) { return each->handle == handle; });
  if (!found.is_ok() && leaving == leaving_.end()) return found.take_status();
  const StreamPtr stream = found.is_ok() ? found.take() : *leaving;
  if (is_stuck(*stream)) return false;
  do_front(*stream, lock);
  // A mark is no work of its own: it is reached with what was before it.
  while (!is_stuck(*stream) && stream->queue.front().kind == Kind::mark) do_front(*stream, lock);
  return true;
}

void StreamSet::drain() noexcept {
  if (stop_.stop_requested()) return;
  if (completion_ != Completion::threads) (void)wait_all();
  Lock lock(mutex_);
  stop_.request_stop();
  std::vector<StreamPtr> all = leaving_;
  for (const auto& [handle, stream] : streams_) all.push_back(stream);
  for (const StreamPtr& stream : all) stream->arrived.notify_all();
  lock.unlock();
  join(all);
}

}  // namespace cistern::device
