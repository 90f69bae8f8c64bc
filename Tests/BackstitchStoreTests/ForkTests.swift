import Backstitch
import CFaults
import Foundation
import TestBudget
import Testing
import Threading

@testable import BackstitchStore

/// A child that was forked has the memory of the store, and none of its threads.
@Suite(.budgeted) struct ForkTests {
    @Test func `a child that was forked in the middle of a write is refused, and does not wait`()
        async
    {
        await #expect(processExitsWith: .success) {
            let store = try Store.inMemory(schema: .all)
            let (hasBegun, mayEnd) = (Locked(false), Locked(false))
            async let write: Void = store.write { _ in
                hasBegun.withLock { $0 = true }
                while !mayEnd.withLock({ $0 }) { sched_yield() }
            }
            while !hasBegun.withLock({ $0 }) { await Task.yield() }
            let status = CFaultsInChild(
                { context in
                    guard let context else { return 1 }
                    // A child that hangs ends by a signal, after ten minutes.
                    alarm(600)
                    let store = Unmanaged<Store>.fromOpaque(context).takeUnretainedValue()
                    let write = failure { try store.write { _ in } }
                    let read = failure { _ = try store.read { try $0.lastSequence } }
                    return write?.code == .closed && read?.code == .closed ? 0 : 2
                }, Unmanaged.passUnretained(store).toOpaque())
            mayEnd.withLock { $0 = true }
            try await write
            #expect(status == 0)
            try await store.save(Node(id: "n"))
            #expect(try store.read { try $0.count(Node.self) } == 1)
        }
    }
}
