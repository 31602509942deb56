// SPDX-License-Identifier: MIT
/// @file
/// One emulated device: a thread that starts the operations of its streams and runs the workgroups.
///
/// Streams run at once; the default stream waits for those that were not created as non-blocking,
/// and they for it. Functions (copies, fills) run on the device's thread.
///
///     executor device(0);
///     device.submit(*device.default_stream(), std::move(op));
///     device.synchronize(*device.default_stream());
#pragma once

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

#include "hiris/platform/cpu/fabric.hpp"
#include "hiris/platform/cpu/options.hpp"
#include "hiris/platform/cpu/stream.hpp"
#include "hiris/platform/cpu/units.hpp"

namespace hiris::platform::cpu {

inline std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

/// Tells the one thread of a hostile fabric that there may be work.
void ring_turns();

class executor {
 public:
  explicit executor(int ordinal) : ordinal_(ordinal), units_(ordinal) {
    streams_.push_back(std::make_unique<ihipStream_t>());
    streams_.front()->device = this;
    streams_.front()->is_default = true;
  }
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;

  int ordinal() const { return ordinal_; }
  hipStream_t default_stream() { return streams_.front().get(); }

  hipStream_t create_stream(bool waits_for_default) {
    auto created = std::make_unique<ihipStream_t>();
    created->device = this;
    created->waits_for_default = waits_for_default;
    const std::lock_guard lock(mutex_);
    streams_.push_back(std::move(created));
    return streams_.back().get();
  }

  /// The stream's operations still run.
  void close_stream(ihipStream_t& stream) {
    const std::lock_guard lock(mutex_);
    stream.closed = true;
    remove_if_closed(stream);
  }

  hipError_t submit(ihipStream_t& stream, operation op) {
    const std::lock_guard lock(mutex_);
    if (stopping_) return hipErrorDeinitialized;
    op.sequence = ++sequence_;
    if (fabric_enabled()) op.before = the_fabric().view_of_host();
    stream.queue.push_back(std::move(op));
    if (!thread_.joinable() && !fabric_enabled()) thread_ = std::thread([this] { run(); });
    ring_locked();
    return hipSuccess;
  }

  bool idle(const ihipStream_t& stream) {
    const std::lock_guard lock(mutex_);
    if (!stream.queue.empty()) return false;
    tell_host(stream.known);
    return true;
  }

  /// Waits until the stream is empty. @return The first error of its kernels, which it clears.
  hipError_t synchronize(ihipStream_t& stream) {
    std::unique_lock lock(mutex_);
    const std::uint64_t until = sequence_;
    finished_.wait(lock, [&] {
      return stopping_ || stream.queue.empty() || stream.queue.front().sequence > until;
    });
    tell_host(stream.known);
    return std::exchange(stream.error, hipSuccess);
  }

  /// The same for all streams of the device.
  hipError_t synchronize() {
    drain();
    const std::lock_guard lock(mutex_);
    hipError_t first = hipSuccess;
    for (const auto& s : streams_) {
      const hipError_t error = std::exchange(s->error, hipSuccess);
      if (first == hipSuccess) first = error;
    }
    return first;
  }

  /// Waits for what has been submitted, and leaves errors where they are.
  void drain() {
    std::unique_lock lock(mutex_);
    const std::uint64_t until = sequence_;
    finished_.wait(lock, [&] {
      return stopping_ || std::ranges::all_of(streams_, [&](const auto& s) {
               return s->queue.empty() || s->queue.front().sequence > until;
             });
    });
    for (const auto& s : streams_) tell_host(s->known);
  }

  hipError_t take_error(ihipStream_t& stream) {
    const std::lock_guard lock(mutex_);
    return std::exchange(stream.error, hipSuccess);
  }

  /// Waits for one record of an event.
  void wait(const occurrence& event) {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return stopping_ || event.done.load(std::memory_order_acquire); });
    tell_host(event.known);
  }
  /// The host sees that something has happened.
  static void tell_host(const shared_clock& known) {
    if (fabric_enabled()) the_fabric().host().learn(known);
  }

  /// Has the thread look at its streams again.
  void ring() {
    const std::lock_guard lock(mutex_);
    ring_locked();
  }

  /// Ends the thread; what has not run is dropped.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      ring_locked();
      finished_.notify_all();
    }
    if (!thread_.joinable()) return;
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

  // For the one thread that runs all devices of a hostile fabric.
  bool has_work() {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(streams_, [](const auto& s) { return !s->queue.empty(); });
  }
  /// Starts what can start, and runs one workgroup. @return True if anything more than waited.
  bool turn() {
    std::unique_lock lock(mutex_);
    bool moved = start_operations(lock);
    while (units_.admit()) moved = true;
    if (units_.idle()) return moved;
    lock.unlock();
    moved |= units_.run_any(the_fabric().choices());
    lock.lock();
    reap();
    ++quiet_turns_;
    return moved;
  }
  /// Whether all that it runs has had time to look, in vain. Other devices' moves end it.
  bool is_quiet() const { return units_.idle() || quiet_turns_ > 16 * (units_.residents() + 1); }
  void end_quiet() { quiet_turns_ = 0; }

  /// Text of the last kernel failure.
  std::string last_failure() {
    const std::lock_guard lock(mutex_);
    return last_failure_;
  }

 private:
  /// What has happened before a stream's first operation, which begins.
  void learn_before(ihipStream_t& stream) {
    const operation& head = stream.queue.front();
    if (head.before.known != stream.host_known) {
      stream.host_known = head.before.known;
      stream.known = join(stream.known, head.before.known);
      the_fabric().take_from_host(ordinal_, head.before);
    }
    if (head.kind == operation::graph_run) stream.known = join(stream.known, head.graph->known);
    for (const auto& s : streams_)
      if (s->waits_for_default && stream.waits_for_default && (s->is_default || stream.is_default))
        stream.known = join(stream.known, s->known);
  }

  /// @return What has happened after it.
  shared_clock run_function(const operation& op, const shared_clock& known) const {
    if (!fabric_enabled()) return op.function(), nullptr;
    the_fabric().begin_copy(ordinal_, known, op.rank);
    if (op.is_hosts) tell_host(known);
    op.function();
    const shared_clock done = the_fabric().end_copy(ordinal_);
    return op.is_hosts ? join(done, the_fabric().host().known()) : done;
  }

  void ring_locked() {
    if (fabric_enabled()) ring_turns();
    bell_.fetch_add(1, std::memory_order_release);
    work_.notify_one();
  }

  void run() {
    ::prctl(PR_SET_TIMERSLACK, 1000UL);
    std::unique_lock lock(mutex_);
    while (true) {
      const std::uint32_t heard = bell_.load(std::memory_order_acquire);
      const bool any = start_operations(lock);
      if (stopping_) break;
      bool more = true;
      for (int i = 0; i < 64 && (more = units_.admit()); ++i) {
        lock.unlock();
        const bool ended = units_.run_newest();
        lock.lock();
        if (ended) reap();
      }
      if (units_.idle()) {
        if (!any && !more)
          work_.wait(lock, [&] { return bell_.load(std::memory_order_acquire) != heard; });
        continue;
      }
      lock.unlock();
      while (!units_.round() && !more && bell_.load(std::memory_order_acquire) == heard) {
      }
      lock.lock();
      reap();
    }
    units_.drop();
  }

  // Begins what can begin. The lock is open while a function runs.
  bool start_operations(std::unique_lock<std::mutex>& lock);
  void start_graph(ihipStream_t& stream, const std::shared_ptr<graph_exec>& exec);

  bool may_start(const ihipStream_t& stream) const {
    const operation& head = stream.queue.front();
    if (head.kind == operation::event_wait && !head.event->done.load(std::memory_order_acquire))
      return false;
    if (head.kind == operation::graph_run && head.graph->running) return false;
    if (stream.is_default) {
      return std::ranges::all_of(streams_, [&](const auto& s) {
        return s.get() == &stream || !s->waits_for_default || s->queue.empty() ||
               s->queue.front().sequence > head.sequence;
      });
    }
    const auto& first = streams_.front()->queue;
    return !stream.waits_for_default || first.empty() || first.front().sequence > head.sequence;
  }

  /// The stream's first operation is done.
  void finish(ihipStream_t& stream) {
    if (stream.queue.front().kind == operation::graph_run) {
      stream.queue.front().graph->running = false;
      stream.queue.front().graph->known = stream.known;
    }
    stream.queue.pop_front();
    stream.busy = false;
    if (fabric_enabled() &&
        (stream.queue.empty() || stream.queue.front().kind != operation::kernel))
      the_fabric().host_boundary(ordinal_);
    if (stream.queue.empty() && stream.parent != nullptr) {
      ihipStream_t& parent = *stream.parent;
      if (parent.error == hipSuccess) parent.error = stream.error;
      parent.known = join(parent.known, stream.known);
      if (--parent.open_branches == 0) finish(parent);
      stream.closed = true;
    }
    bell_.fetch_add(1, std::memory_order_release);
    finished_.notify_all();
  }

  void remove_if_closed(const ihipStream_t& stream) {
    if (!stream.closed || !stream.queue.empty() || stream.busy) return;
    ihipStream_t& heir = *streams_.front();  // for who waits for the device
    if (stream.parent == nullptr) heir.known = join(heir.known, stream.known);
    std::erase_if(streams_, [&](const auto& s) { return s.get() == &stream; });
  }

  /// Takes away what has ended.
  void reap() {
    const std::string failure = units_.reap([&](ihipStream_t& stream, bool failed) {
      if (failed) stream.error = hipErrorLaunchFailure;
      finish(stream);
    });
    if (!failure.empty()) last_failure_ = failure;
  }

  const int ordinal_;
  std::mutex mutex_;
  std::condition_variable work_, finished_;
  std::atomic<std::uint32_t> bell_{0};
  bool stopping_ = false;
  std::uint64_t sequence_ = 0;
  std::vector<std::unique_ptr<ihipStream_t>> streams_;  // the first is the default stream
  std::string last_failure_;
  std::thread thread_;

  compute_units units_;  // used by the thread only
  std::size_t quiet_turns_ = 0;
};

/// Tells all devices that an event has happened.
void ring_all_devices();

inline void executor::start_graph(ihipStream_t& stream, const std::shared_ptr<graph_exec>& exec) {
  exec->running = true;
  std::map<const occurrence*, std::shared_ptr<occurrence>> events;
  const auto own_event = [&](const std::shared_ptr<occurrence>& placeholder) {
    auto& own = events[placeholder.get()];
    if (!own) own = std::make_shared<occurrence>(this);
    return own;
  };
  for (const auto& branch : exec->captured.branches) {
    if (branch.empty()) continue;
    auto running = std::make_unique<ihipStream_t>();
    running->device = this;
    running->waits_for_default = false;
    running->parent = &stream;
    running->known = stream.known;
    for (operation op : branch) {
      if (op.event) op.event = own_event(op.event);
      op.rank = stream.queue.front().rank;
      op.sequence = stream.queue.front().sequence;
      running->queue.push_back(std::move(op));
    }
    ++stream.open_branches;
    streams_.push_back(std::move(running));
  }
}

inline bool executor::start_operations(std::unique_lock<std::mutex>& lock) {
  bool any = false;
  bool recorded = false;
  for (std::size_t i = 0; i < streams_.size() && !stopping_; ++i) {
    ihipStream_t& stream = *streams_[i];
    while (!stream.busy && !stream.queue.empty() && may_start(stream) && !stopping_) {
      any = true;
      stream.busy = true;
      operation& head = stream.queue.front();
      if (fabric_enabled()) learn_before(stream);
      switch (head.kind) {
        case operation::kernel: {
          units_.start(stream, head);
          break;
        }
        case operation::function_call: {
          const operation op = std::move(head);
          const shared_clock known = stream.known;
          lock.unlock();
          const shared_clock after = run_function(op, known);
          lock.lock();
          stream.known = after;
          finish(stream);
          break;
        }
        case operation::event_record: {
          const auto event = head.event;
          event->time_ns = now_ns();
          event->status = stream.error;
          event->known = stream.known;
          event->done.store(true, std::memory_order_release);
          finish(stream);
          recorded = true;
          break;
        }
        case operation::event_wait:
          stream.known = join(stream.known, head.event->known);
          if (fabric_enabled()) the_fabric().host_boundary(ordinal_);
          finish(stream);
          break;
        case operation::graph_run:
          start_graph(stream, head.graph);
          if (stream.open_branches == 0) finish(stream);
          break;
      }
    }
  }
  for (std::size_t i = streams_.size(); i-- > 1;) remove_if_closed(*streams_[i]);
  if (recorded) {
    lock.unlock();
    ring_all_devices();
    lock.lock();
  }
  return any;
}

}  // namespace hiris::platform::cpu
