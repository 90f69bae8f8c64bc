import Backstitch
import CrashStates
import Foundation
import Glibc
import TestBudget
import Testing

@testable import BackstitchStore

/// Failures of the device at each call that writing a store's file anew makes, one after the other.
///
/// `FAULT_CALLS` set prints how many calls there are, if `EVERY_POINT` is set too.
@Suite(.serialized, .exclusiveFaults, .budgeted) struct RewriteFaultTests {
    private let folder: TemporaryFolder
    private let place: String

    init() throws {
        folder = try TemporaryFolder(inMemory: true)
        place = URL(fileURLWithPath: folder.root).resolvingSymlinksInPath().path + "/case"
        let store = try folder.open(.format)
        try store.write { _ = try $0.save(FormatThing.full()) }
        store.close()
    }

    private func begin() throws {
        try? FileManager.default.removeItem(atPath: place)
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        try FileManager.default.copyItem(atPath: folder.store, toPath: place + "/store")
    }

    private func rewrite() -> Result<Void, any Error> {
        do {
            try Store.rewriteFile(at: place + "/store", configuration: .quick)
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// The store is whole, and the next attempt leaves nothing else behind.
    private func check(_ outcome: Result<Void, any Error>, failed: Int, _ story: String) throws {
        if case .failure(let error) = outcome {
            #expect(failed > 0, "\(story): \(error)")
            #expect(error is StoreError, "\(story): \(error)")
        }
        let store = try Store(at: place + "/store", schema: .format, configuration: .quick)
        #expect(try store.verify().problems == [], "\(story)")
        let full = try store.read { try $0.find(FormatThing.self, "full") }
        #expect(try full == FormatThing.full(), "\(story)")
        try store.write { _ = try $0.save(FormatThing(id: "after")) }
        store.close()
        // What could not be removed goes with the next one that is made.
        try Store.rewriteFile(at: place + "/store", configuration: .quick)
        let names = try FileManager.default.contentsOfDirectory(atPath: place)
        #expect(names == ["store"], "\(story)")
    }

    @Test(arguments: [(1, EIO), (Int.max >> 32, ENOSPC)])
    func `whichever call fails, the store is whole, and the next time finishes`(
        times: Int, reason: Int32
    ) async throws {
        let steps = Load.steps(oneOf: 3)
        var (number, failed) = (steps.first, 1)
        while failed > 0 {
            try begin()
            let (outcome, count, calls) = await FaultedCalls.run(
                in: place, from: number, times: times, reason
            ) { rewrite() }
            failed = count
            let call = calls.first { $0.hasSuffix(" failed") } ?? "no call"
            try check(
                outcome, failed: failed, "call \(number), \(times) fail with \(reason): \(call)")
            number += steps.stride
        }
        #expect(number > steps.first + steps.stride)
        if ProcessInfo.processInfo.environment["FAULT_CALLS"] != nil {
            print("rewrite: \(number - 1) calls")
        }
    }

    @Test func `the new file gets the name when everything in it is on disk`() async throws {
        try begin()
        let (_, _, calls) = await FaultedCalls.run(in: place, from: .max >> 33, times: 0, EIO) {
            rewrite()
        }
        let draft = "/.store.draft-"
        let named = try #require(calls.firstIndex(of: "rename /store/data.mdb"))
        let written = try #require(
            calls[..<named].lastIndex {
                $0.hasPrefix("write \(draft)") && $0.hasSuffix("/data.mdb")
            })
        #expect(
            calls[written..<named].contains {
                $0.hasPrefix("sync \(draft)") && $0.hasSuffix("/data.mdb")
            }, "\(calls)")
        #expect(calls[(named + 1)...].first { !$0.hasPrefix("open ") } == "sync /store", "\(calls)")
    }
}
