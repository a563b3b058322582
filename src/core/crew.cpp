#include "crew.h"

#include <system_error>

namespace tanager {

namespace {

constexpr int n_spins = 20000;  // some tens of microseconds, longer than a step hands nothing over

}  // namespace

Crew::Crew(int n_threads) {
    try {
        for (int member = 1; member < n_threads; ++member) {
            try {
                threads_.emplace_back([this, member] { loop(member); });
            } catch (const std::system_error&) {
                break;  // the system has no more threads to give; results do not depend on how many there are
            }
        }
    } catch (const std::system_error&) {
        // The system has no more threads to give: a smaller crew comes to the same result.
    }
}

Crew::~Crew() {
    is_over_ = true;
    start();
    for (auto& thread : threads_) thread.join();
}

void Crew::start() {
    n_working_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
    {
        const std::lock_guard lock(mutex_);
        round_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
}

void Crew::wait() {
    for (int spin = 0; n_working_.load(std::memory_order_acquire) > 0; ++spin)
        if (spin > n_spins) std::this_thread::yield();
}

void Crew::loop(int member) {
    for (std::uint64_t seen = 0;;) {
        for (int spin = 0; round_.load(std::memory_order_acquire) == seen; ++spin) {
            if (spin < n_spins) continue;
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return round_.load(std::memory_order_acquire) != seen; });
        }
        seen = round_.load(std::memory_order_acquire);
        if (is_over_) return;
        call_(context_, member);
        n_working_.fetch_sub(1, std::memory_order_release);
    }
}

std::vector<std::pair<Index, Index>> split_by_cost(const std::vector<double>& cost, int n_members) {
    double total = 0.0;
    for (const double each : cost) total += each;
    std::vector<std::pair<Index, Index>> ranges;
    Index start = 0;
    double done = 0.0;
    const auto n_items = static_cast<Index>(cost.size());
    for (int member = 0; member < n_members; ++member) {
        const double goal = total * (member + 1) / n_members;
        Index stop = start;
        while (stop < n_items && (member + 1 == n_members || done + cost[stop] / 2 <= goal)) done += cost[stop++];
        ranges.emplace_back(start, stop);
        start = stop;
    }
    return ranges;
}

}  // namespace tanager
