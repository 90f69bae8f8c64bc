import Foundation
import Glibc
import TestBudget
import Testing
import Threading
import Waiting

@testable import LMDB

/// Copies that are made while another process writes.
@Suite(.budgeted) struct CopyTests {
    let fixture: Fixture

    init() throws { fixture = try Fixture(inMemory: true) }

    private struct Copying {
        var thread: UInt = 0
        var isHeld = false
        var mayGoOn = false
        var result: Result<Void, any Error>?
    }

    @Test(arguments: ["a copy begins", "a copy was made"])
    func `a copy by a process that only reads is whole, though another one uses both halves again`(
        point: String
    ) async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = fixture.store as String] in
            let other = try Environment.open(
                at: path, options: Fixture.options { $0.journal = .eager(apply: 1_000) })
            for number in 0..<10 { try other.save(["a": "\(number)", "b": "\(number)"]) }
            kill(getpid(), SIGKILL)
        }
        let reader = try fixture.open { $0.isReadOnly = true }
        #expect(try reader.entries() == ["a": "9", "b": "9"])
        #expect(reader.waitingRecords > 5)
        let state = Locked(Copying())
        let hook = TestPoint.hook { name in
            // Other tests make copies too.
            guard "\(name)" == point,
                state.withLock({ $0.thread }) == UInt(pthread_self())
            else { return }
            state.withLock { $0.isHeld = true }
            blockUntil { state.withLock { $0.mayGoOn } }
        }
        defer { TestPoint.unhook(hook) }
        let target = fixture.root + "/copy"
        let thread = SystemThread {
            state.withLock { $0.thread = UInt(pthread_self()) }
            let result = Result { try reader.copy(to: target) }
            state.withLock { $0.result = result }
        }
        try await eventually { state.withLock { $0.isHeld || $0.result != nil } }
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = fixture.store as String] in
            let other = try Environment.open(
                at: path, options: Fixture.options { $0.journal = .eager() })
            // Three pages each, and a half has 24.
            let filling = String(repeating: "x", count: 9_000)
            for number in 10..<60 {
                try other.save(["a": "\(number)", "b": "\(number)", "c": filling])
            }
            kill(getpid(), SIGKILL)
        }
        state.withLock { $0.mayGoOn = true }
        try await eventually { state.withLock { $0.result != nil } }
        thread.join()
        try state.withLock { $0.result }?.get()
        #expect(try FileManager.default.contentsOfDirectory(atPath: target) == ["data.mdb"])
        let copy = try Environment.open(at: target, options: Fixture.options())
        let entries = try copy.entries()
        if point == "a copy was made" {
            #expect(entries == ["a": "9", "b": "9"])
        } else {
            // A later state, and a whole one.
            #expect(entries["a"] == entries["b"])
            #expect(entries["c"] != nil)
        }
        try copy.save(["d": "1"])
    }
}
