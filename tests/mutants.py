# SPDX-License-Identifier: MIT
"""What scripts/mutants takes out of the library, one at a time."""
import dataclasses


@dataclasses.dataclass
class Mutant:
    name: str
    file: str  # under include/hiris
    what: str
    changes: list  # of (text that stands there once, what stands there instead)
    tests: list  # programs that may see it, the likeliest first


LITMUS, GEMM, DECODE = "litmus", "all_gather_gemm", "flash_decode"

SIGNAL = [
    ("quiet", "the drain of `quiet`", "void quiet() { platform::complete_stores(); }",
     "void quiet() {}"),
    ("wave_quiet_drain", "the drain of `wave_quiet`",
     "  platform::complete_stores();\n  platform::wave_sync();", "  platform::wave_sync();"),
    ("wave_quiet_meeting", "the meeting of `wave_quiet`",
     "  platform::complete_stores();\n  platform::wave_sync();", "  platform::complete_stores();"),
    ("block_quiet_drain", "the drain of `block_quiet`",
     "  platform::complete_stores();\n  platform::block_sync();", "  platform::block_sync();"),
    ("block_quiet_barrier", "the barrier of `block_quiet`",
     "  platform::complete_stores();\n  platform::block_sync();", "  platform::complete_stores();"),
    ("fence_order", "the order of `fence`", "  platform::fence<Order, Scope>();\n", ""),
    ("fence_scope", "the scope of `fence`", "platform::fence<Order, Scope>()",
     "platform::fence<Order, scope::agent>()"),
    ("notify_release", "the release of `notify`",
     "  platform::atomic_fetch_add<order::release, scope::system>(&ctx.on(to, at)->arrivals, count);",
     "  platform::atomic_fetch_add<order::relaxed, scope::system>(&ctx.on(to, at)->arrivals, count);"),
    ("notify_scope", "the scope of `notify`",
     "  platform::atomic_fetch_add<order::release, scope::system>(&ctx.on(to, at)->arrivals, count);",
     "  platform::atomic_fetch_add<order::release, scope::agent>(&ctx.on(to, at)->arrivals, count);"),
    ("notify_peer_drain", "the drain of `notify_peer_stores`",
     "  platform::drain_stores();\n  platform::publish_add", "  platform::publish_add"),
    ("notify_peer_scope", "the scope of `notify_peer_stores`",
     "  platform::drain_stores();\n  platform::publish_add<scope::system>",
     "  platform::drain_stores();\n  platform::publish_add<scope::agent>"),
    ("wave_notify_drain", "the drain of `wave_notify_peer_stores`",
     "  platform::drain_stores();\n  platform::wave_sync();", "  platform::wave_sync();"),
    ("wave_notify_meeting", "the meeting of `wave_notify_peer_stores`",
     "  platform::drain_stores();\n  platform::wave_sync();", "  platform::drain_stores();"),
    ("wave_notify_scope", "the scope of `wave_notify_peer_stores`",
     "lane_rank() == 0) {\n    platform::publish_add<scope::system>",
     "lane_rank() == 0) {\n    platform::publish_add<scope::agent>"),
    ("block_notify_drain", "the drains of `block_notify`",
     "  platform::drain_stores();  // every wave's stores have reached the L2 that thread 0 writes back\n",
     ""),
    ("block_notify_barrier", "the barrier of `block_notify`",
     "thread 0 writes back\n  platform::block_sync();", "thread 0 writes back"),
    ("block_notify_release", "the release of `block_notify`",
     "    platform::atomic_fetch_add<order::release, scope::system>(&theirs->arrivals, count);",
     "    platform::atomic_fetch_add<order::relaxed, scope::system>(&theirs->arrivals, count);"),
    ("block_notify_scope", "the scope of `block_notify`",
     "    platform::atomic_fetch_add<order::release, scope::system>(&theirs->arrivals, count);",
     "    platform::atomic_fetch_add<order::release, scope::agent>(&theirs->arrivals, count);"),
    ("block_notify_peer_drain", "the drains of `block_notify_peer_stores`",
     "  platform::drain_stores();  // a workgroup barrier alone leaves other waves' stores in flight\n",
     ""),
    ("block_notify_peer_barrier", "the barrier of `block_notify_peer_stores`",
     "stores in flight\n  platform::block_sync();", "stores in flight"),
    ("block_notify_peer_scope", "the scope of `block_notify_peer_stores`",
     "written through\n    platform::publish_add<scope::system>",
     "written through\n    platform::publish_add<scope::agent>"),
    ("poll_scope", "the scope of a wait's polls",
     "    seen = platform::atomic_load<order::relaxed, scope::system>(&at->arrivals);",
     "    seen = platform::atomic_load<order::relaxed, scope::agent>(&at->arrivals);"),
    ("wait_acquire", "the acquire of `wait_until`",
     "  platform::acquire_after<scope::system>(&at->arrivals);\n  return", "  return"),
    ("wait_acquire_scope", "the scope of `wait_until`'s acquire",
     "  platform::acquire_after<scope::system>(&at->arrivals);\n  return",
     "  platform::acquire_after<scope::agent>(&at->arrivals);\n  return"),
    ("block_wait_acquire", "the acquire of `block_wait_until`",
     "    platform::acquire_after<scope::system>(&at->arrivals);\n  }", "  }"),
    ("block_wait_acquire_scope", "the scope of `block_wait_until`'s acquire",
     "    platform::acquire_after<scope::system>(&at->arrivals);\n  }",
     "    platform::acquire_after<scope::agent>(&at->arrivals);\n  }"),
    ("block_wait_barrier", "the barrier of `block_wait_until`",
     "  return platform::block_any(late)", "  return (late)"),
]
BARRIER = [
    ("barrier_drain", "the drains of `block_barrier`",
     "  platform::drain_stores();\n  platform::block_sync();", "  platform::block_sync();"),
    ("barrier_before", "the workgroup barrier before `block_barrier` tells",
     "  platform::drain_stores();\n  platform::block_sync();", "  platform::drain_stores();"),
    ("barrier_release", "the release of `block_barrier`",
     "atomic_fetch_add<order::release, scope::system>", "atomic_fetch_add<order::relaxed, scope::system>"),
    ("barrier_scope", "the scope of `block_barrier`'s signals",
     "atomic_fetch_add<order::release, scope::system>", "atomic_fetch_add<order::release, scope::agent>"),
    ("barrier_acquire", "the acquire of `block_barrier`",
     "        platform::acquire_after<scope::system>(&signals[peer].arrivals);\n", ""),
    ("barrier_acquire_scope", "the scope of `block_barrier`'s acquire",
     "acquire_after<scope::system>", "acquire_after<scope::agent>"),
    ("barrier_after", "the workgroup barrier after `block_barrier` has waited",
     "  return platform::block_any(late)", "  return (late)"),
]
# What each atomic of atomic.hpp calls; stands there once.
ATOMICS = [
    ("add", "static_cast<T>(platform::atomic_fetch_add<Order, Scope>"),
    ("sub", "platform::atomic_fetch_sub<Order, Scope>"),
    ("sub_number", "    return platform::atomic_fetch_add<Order, Scope>"),
    ("inc", "return atomic_add<Order, Scope>"),
    ("min", "platform::atomic_fetch_min<Order, Scope>"),
    ("max", "platform::atomic_fetch_max<Order, Scope>"),
    ("and", "platform::atomic_fetch_and<Order, Scope>"),
    ("or", "platform::atomic_fetch_or<Order, Scope>"),
    ("xor", "platform::atomic_fetch_xor<Order, Scope>"),
    ("xchg", "platform::atomic_exchange<Order, Scope>"),
    ("cas", "platform::atomic_compare_exchange<Order, Scope>"),
]
OTHERS = [
    ("cause_release", "detail/causes.hpp", "the release of a cause",
     "    platform::atomic_store<order::release, scope::system>(",
     "    platform::atomic_store<order::relaxed, scope::system>(", [LITMUS]),
    ("cause_scope", "detail/causes.hpp", "the scope of a cause's release",
     "    platform::atomic_store<order::release, scope::system>(",
     "    platform::atomic_store<order::release, scope::agent>(", [LITMUS]),
    ("cause_acquire", "detail/causes.hpp", "the acquire of who was told a cause",
     "  platform::acquire_after<scope::system>(&line->state);\n", "", [LITMUS]),
    ("cause_look_scope", "detail/causes.hpp", "the scope of a look at a control line",
     "platform::atomic_load<order::relaxed, scope::system>",
     "platform::atomic_load<order::relaxed, scope::agent>", [LITMUS]),
    ("cause_claim_scope", "detail/causes.hpp", "the scope of the claim of a control line",
     "platform::atomic_compare_exchange<order::relaxed, scope::system>",
     "platform::atomic_compare_exchange<order::relaxed, scope::agent>", [LITMUS]),
    ("cause_own_claim", "detail/causes.hpp", "the claim of a rank's own record",
     "  if (!claim(line->ended, 0u, 1u)) return;\n", "", [LITMUS]),
    ("cause_claim", "detail/causes.hpp", "the claim of a control line",
     "!claim(r->state, fault_state::none, fault_state::writing)", "false", [LITMUS]),
    ("store_through", "detail/transfer.hpp", "the way of `store` past the caches",
     "platform::peer_store((unit*)p + i", "platform::store_global((unit*)p + i", [LITMUS, GEMM]),
    ("put_through", "detail/transfer.hpp", "the way of `put` past the caches",
     "    platform::peer_store(p, v);", "    platform::store_global(p, v);", [DECODE]),
    ("ship_through", "comm/ship.hpp", "the way of a shipped tile past the caches",
     "platform::peer_store(reinterpret_cast", "platform::store_global(reinterpret_cast", [GEMM]),
    ("completes_barrier", "comm/epoch.hpp", "the barrier before a workgroup counts itself",
     "  platform::block_sync();\n  bool last", "  bool last", [GEMM, DECODE]),
    ("completes_order", "comm/epoch.hpp", "the order of counting workgroups",
     "atomic_fetch_add<order::acq_rel, scope::agent>", "atomic_fetch_add<order::relaxed, scope::agent>",
     [DECODE, GEMM]),
    ("completes_release", "comm/epoch.hpp", "the release of counting workgroups",
     "atomic_fetch_add<order::acq_rel, scope::agent>", "atomic_fetch_add<order::acquire, scope::agent>",
     [DECODE, GEMM]),
    ("completes_acquire", "comm/epoch.hpp", "the acquire of counting workgroups",
     "atomic_fetch_add<order::acq_rel, scope::agent>", "atomic_fetch_add<order::release, scope::agent>",
     [DECODE, GEMM]),
    ("completes_after", "comm/epoch.hpp", "the barrier after a workgroup has counted itself",
     "  return platform::block_any(last);", "  return (last);", [DECODE, GEMM]),
    ("acknowledge_release", "comm/epoch.hpp", "the release of an acknowledgement",
     "notify(ctx, acknowledged + ctx.rank, peer)",
     "platform::atomic_fetch_add<order::relaxed, scope::system>("
     "&ctx.on(peer, acknowledged + ctx.rank)->arrivals, std::uint64_t{1})", [GEMM, DECODE]),
    ("bulk_barrier", "ops/all_gather_gemm.hpp", "bulk_synchronous: the barrier of all ranks",
     "platform::launch<barrier_kernel>(stream, 1, state_.barrier_params());", "{}", [GEMM]),
    ("push_acknowledged", "comm/push.hpp", "push: the wait for a free slot",
     "if (what.peer != free_)", "if (false)", [GEMM]),
    ("push_arrived", "comm/push.hpp", "push: the wait for a tile",
     "return seen_.wait(p_.ctx, p_.arrived, here_.tile_of(p_, at), epoch_, at.source);",
     "return wait_status::ok;", [GEMM]),
    ("push_signal", "comm/push.hpp", "push: the drain before a tile's signal",
     "block_notify_peer_stores(p_.ctx, p_.arrived + p_.shards[p_.ctx.rank].first_tile + what.tile,\n"
     "                             what.peer);",
     "if (platform::thread_rank() == 0) platform::publish_add<scope::system>(&p_.ctx.on(what.peer, "
     "p_.arrived + p_.shards[p_.ctx.rank].first_tile + what.tile)->arrivals, 1); "
     "platform::block_sync();", [GEMM]),
    ("pull_acknowledged", "comm/pull.hpp", "pull: the wait for the peers at the end",
     "late |= wait_until(ctx, p_.x.acknowledged + peer, epoch_, peer) != wait_status::ok;",
     "late |= false;", [GEMM]),
    ("pull_opened", "comm/pull.hpp", "pull: the wait for a peer's shard",
     "        seen_.wait(p_.x.ctx, p_.x.arrived, here_.first_tile, epoch_, at.source);",
     "        wait_status::ok;", [GEMM]),
    ("pull_offset_order", "comm/pull.hpp", "pull: the release of where the shard lies",
     "      notify(ctx, opened, peer);",
     "      platform::atomic_fetch_add<order::relaxed, scope::system>("
     "&ctx.on(peer, opened)->arrivals, std::uint64_t{1});", [GEMM]),
    ("decode_slots", "comm/partials.hpp", "Flash Decode: the second slot of an inbox",
     "epoch_ % 2", "epoch_ % 1", [DECODE]),
    ("decode_arrived", "comm/partials.hpp", "Flash Decode: the wait for a record",
     "return seen_.wait(x_.ctx, x_.arrived, number_of(source, signal), target_of(signal), source);",
     "return wait_status::ok;", [DECODE]),
    ("decode_signal", "comm/partials.hpp", "Flash Decode: the drain before a record's signal",
     "block_notify_peer_stores(x_.ctx, signal_of(x_.ctx.rank, group), peer);",
     "platform::block_sync(); if (platform::thread_rank() == 0) platform::publish_add<scope::system>("
     "&x_.ctx.on(peer, signal_of(x_.ctx.rank, group))->arrivals, 1);", [DECODE]),
    ("decode_own_notify", "comm/partials_policies.hpp", "Flash Decode: the release of the own record",
     "block_notify(x_.ctx, signal_of(x_.ctx.rank, group), x_.ctx.rank);",
     "block_notify_peer_stores(x_.ctx, signal_of(x_.ctx.rank, group), x_.ctx.rank);", [DECODE]),
    ("decode_own_wait", "comm/partials_policies.hpp", "Flash Decode, fused: the wait for the own record",
     "    return wait_for(source, group / x_.groups_a_signal);",
     "    return partials_awaited::ready(source, group);", [DECODE]),
    ("decode_settle", "comm/partials_policies.hpp", "Flash Decode: the wait at the end of the gather",
     "const wait_status status = wait_for(source, signal);", "const auto status = wait_status::ok;",
     [DECODE]),
    ("decode_bulk_barrier", "ops/flash_decode.hpp",
     "Flash Decode, bulk_synchronous: the barrier of all ranks",
     "platform::launch<barrier_kernel>(stream, 1, state_.barrier_params());", "{}", [DECODE]),
    ("decode_split_drain", "ops/flash_decode_kernel.hpp", "Flash Decode: the drain of a split's record",
     "      platform::drain_stores();\n", "", [DECODE]),
    ("decode_publish_barrier", "ops/flash_decode_kernel.hpp",
     "Flash Decode: the barrier before a record is published",
     "    platform::block_sync();\n    return journey.publish(group);",
     "    return journey.publish(group);", [DECODE]),
]
MUTANTS = (
    [Mutant(name, "signal.hpp", what, [(old, new)], [LITMUS]) for name, what, old, new in SIGNAL] +
    [Mutant(name, "barrier.hpp", what, [(old, new)], [LITMUS, GEMM])
     for name, what, old, new in BARRIER] +
    [Mutant(f"atomic_{name}_{part.lower()}", "atomic.hpp",
            f"the {part.lower()} of `atomic_{name.removesuffix('_number')}`" +
            (" of floating point" if name.endswith("_number") else ""),
            [(call, call.replace(part, narrower))], [LITMUS])
     for name, call in ATOMICS
     for part, narrower in (("Order", "order::relaxed"), ("Scope", "scope::agent"))] +
    [Mutant(name, file, what, [(old, new)], tests) for name, file, what, old, new, tests in OTHERS])

# What another synchronisation implies today: it survives, and says why. One that a test kills is no
# longer implied, and belongs above.
IMPLIED = [
    (Mutant("fence_seq_cst", "signal.hpp", "the total order of `fence`",
            [("platform::fence<Order, Scope>()",
              "platform::fence<Order == order::seq_cst ? order::acq_rel : Order, Scope>()")], [LITMUS]),
     "the fabric's fences, as amd's, wait for the stores before them, so that one which both releases "
     "and acquires orders all; cuda's do not (`StoreBuffering` on a GPU)"),
    (Mutant("decode_acknowledged", "comm/partials.hpp", "Flash Decode: the wait for a free slot",
            [("free_.wait(x_.ctx, x_.acknowledged, peer, epoch_ - 2, peer)", "wait_status::ok")],
            [DECODE]),
     "a rank ends call e-1 only with every peer's records of e-1, which that peer sends after its "
     "call e-2 has ended"),
    (Mutant("bulk_drain", "comm/bulk_synchronous.hpp", "bulk_synchronous: the drain after a tile",
            [("    platform::drain_stores();\n", "")], [GEMM]),
     "the end of a kernel waits for its stores, and the barrier is another kernel"),
    (Mutant("decode_bulk_drain", "comm/partials_policies.hpp",
            "Flash Decode, bulk_synchronous: the drain after a record",
            [("    platform::drain_stores();\n", "")], [DECODE]),
     "the end of a kernel waits for its stores, and the barrier is another kernel"),
]
