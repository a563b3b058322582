// A small crew of threads that share out the ranges of one step.
//
// A step hands work over several times in a few microseconds, so threads wait by spinning for a while before they
// sleep. Which thread has which range is fixed, and every output is written by one thread: results do not depend on
// timing.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "views.h"

namespace tanager {

class Crew {
 public:
    explicit Crew(int n_threads);
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    int size() const { return static_cast<int>(threads_.size()) + 1; }

    // Call work(member) for every member of the crew, the caller being member 0, and wait for all.
    template <class Work>
    void run(Work&& work) {
        if (threads_.empty()) {
            work(0);
            return;
        }
        call_ = [](void* context, int member) { (*static_cast<std::remove_reference_t<Work>*>(context))(member); };
        context_ = &work;
        start();
        work(0);
        wait();
    }

 private:
    void start();
    void wait();
    void loop(int member);

    std::vector<std::thread> threads_;
    void (*call_)(void*, int) = nullptr;
    void* context_ = nullptr;
    std::atomic<std::uint64_t> round_{0};
    std::atomic<int> n_working_{0};
    std::atomic<bool> is_over_{false};
    std::mutex mutex_;
    std::condition_variable wake_;
};

// Cut items into one range for each member, of nearly equal summed cost.
std::vector<std::pair<Index, Index>> split_by_cost(const std::vector<double>& cost, int n_members);

}  // namespace tanager
