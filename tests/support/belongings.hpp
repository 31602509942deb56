// SPDX-License-Identifier: MIT
/// @file
/// What a process has, and what the library could leave on the machine: for tests that compare it
/// before and after.
///
///     const belongings before = belongings::now();
///     ...
///     expect_nothing_left(before);
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>

namespace hiris::test {

/// Entries of a folder that carry the name of the library, as all do that it makes.
inline std::set<std::string> named_entries(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().string().find("hiris") != std::string::npos)
      names.insert(entry.path().string());
  return names;
}

struct belongings {
  std::set<std::string> files;  ///< Open ones: number and what it is.
  std::set<std::string> shared_memory, temporary;

  static belongings now() {
    belongings mine{{}, named_entries("/dev/shm"), named_entries("/tmp")};
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
      if (!gone && target.find("/proc/") != 0)  // but for the one that looks
        mine.files.insert(entry.path().filename().string() + " -> " + target);
    }
    return mine;
  }
};

/// This process has no child, and neither it nor the machine has anything that was not there.
inline void expect_nothing_left(const belongings& before) {
  const auto expect_none = [](const std::set<std::string>& now, const std::set<std::string>& then) {
    for (const std::string& name : now) EXPECT_EQ(then.count(name), 1u) << "left behind: " << name;
  };
  const belongings after = belongings::now();
  expect_none(after.files, before.files);
  expect_none(after.shared_memory, before.shared_memory);
  expect_none(after.temporary, before.temporary);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left behind";
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace hiris::test
